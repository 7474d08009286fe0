"""What a system is worth at states: a table of quantities, one evaluator of them, and what follows at one state."""
