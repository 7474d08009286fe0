"""Composite parts, joints, actuators, forces and functions of time by their `type` in a model file."""

from ..mechanics import Polynomial, Ramp, Sine, Spline, Step, Table, Transfer, TrianglePulse
from ..mechanics.catalogue import file_types
from ..mechanics.forces.formula_force import FormulaForce

JOINTS, ACTUATORS, FORCES, COMPOSITES = map(file_types, ("joints", "actuators", "forces", "composites"))
ACTUATORS |= {"formula_force": FormulaForce}  # with controls
FUNCTIONS = {"ramp": Ramp, "triangle": TrianglePulse, "step": Step, "sine": Sine, "table": Table, "transfer": Transfer,
             "polynomial": Polynomial, "spline": Spline}
