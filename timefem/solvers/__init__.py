"""Newton's method, linear backends, and the drivers march, windows and global."""
