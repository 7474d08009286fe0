"""Parts with several nodes: bodies, and what holds them together, under one name."""
