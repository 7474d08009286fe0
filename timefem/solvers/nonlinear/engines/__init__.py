"""Engines of others behind the same door: CasADi functions of a program, what they cannot scale, and their options."""
