"""Elimination inside time elements before the chain of nodes is factored."""
