"""Time elements made from others: with controls, constants in time, costates, outputs that are prescribed."""
