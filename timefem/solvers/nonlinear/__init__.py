"""Methods for nonlinear systems; they know the protocol of a system and nothing else."""
