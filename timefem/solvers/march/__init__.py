"""Elements solved one after another, with fixed and with controlled steps."""
