"""Estimation of motions from measurements without dynamics: inverse kinematics of whole trajectories."""
