"""What is measured: each kind of sensor says which number a motion would give it."""
