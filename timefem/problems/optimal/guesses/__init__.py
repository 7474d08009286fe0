"""First guesses of the motion."""
