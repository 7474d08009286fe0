"""Estimation of motions from measurements."""
