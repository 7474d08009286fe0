"""Outputs, and the structure algorithm that differentiates them until the controls appear."""
