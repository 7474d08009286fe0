"""Pictures and films of solutions."""
