"""What an optimal control problem states: costs, limits, couplings, contacts and both ends."""
