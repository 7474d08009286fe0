"""Both ends of a motion: what is prescribed there, in symbols, and reduced to what constraints leave open."""
