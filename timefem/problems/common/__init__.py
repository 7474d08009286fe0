"""What several kinds of problems share."""
