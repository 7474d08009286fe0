"""Linear systems of one element inside compiled loops."""
