"""Optimal control as a nonlinear program, and as equations of an optimum."""
