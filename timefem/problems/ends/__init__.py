"""Both ends of a motion: what is asked for there, in symbols, and reduced to what constraints leave open."""
