"""The square nonlinear system on a chain of elements: serial, with ends, distributed."""
