"""Initial-value problems."""
