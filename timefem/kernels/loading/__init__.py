"""How compiled loops come from disk into the process: their types, their code, their call from Python."""
