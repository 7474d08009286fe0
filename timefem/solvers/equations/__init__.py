"""Square nonlinear equations: the abstract class, and those of elements in time order, serial and distributed."""
