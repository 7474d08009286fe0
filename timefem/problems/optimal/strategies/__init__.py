"""Ways from a guess to a solution: strategies, sequences of meshes, smoothing paths."""
