"""Files and tables of solutions."""
