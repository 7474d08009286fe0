"""Bodies: point masses, rigid bodies, bodies by formulas; their states and mass properties."""
