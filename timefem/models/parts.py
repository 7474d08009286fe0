"""Composite parts, joints, actuators, forces and functions of time by their `type` in a model file."""

from ..mechanics.catalogue import file_types
from ..mechanics.forces.formula_force import FormulaForce
from ..mechanics.functions.elementary import Ramp, Sine, Step, TrianglePulse
from ..mechanics.functions.table import Table
from ..mechanics.functions.trajectories import Polynomial, Spline, Transfer

JOINTS, ACTUATORS, FORCES, COMPOSITES = map(file_types, ("joints", "actuators", "forces", "composites"))
ACTUATORS |= {"formula_force": FormulaForce}  # with controls
FUNCTIONS = {"ramp": Ramp, "triangle": TrianglePulse, "step": Step, "sine": Sine, "table": Table, "transfer": Transfer,
             "polynomial": Polynomial, "spline": Spline}
