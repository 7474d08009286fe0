"""The primal-dual interior-point method, in rooms of one responsibility each."""
