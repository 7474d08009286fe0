"""Motion with all contacts open, from impact to impact, in one compiled loop."""
