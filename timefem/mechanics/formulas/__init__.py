"""Functions and formulas that users give: in Python, as text, from SymPy; as symbols and as plain data."""
