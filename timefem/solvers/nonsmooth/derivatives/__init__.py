"""Derivatives of motions with rigid contact, by their nodes."""
