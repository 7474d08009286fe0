"""Numbers of a system: from the arguments that parts declare to the parameters of their formulas."""
