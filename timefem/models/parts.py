"""Joints, actuators and forces by their `type` in a model file."""

import re

from ..mechanics import Actuator, FixedPoint, Joint, NonlinearSpring
from ..mechanics.describe import PARTS
from ..mechanics.part import Body


def file_type(cls):
    """The `type` of a class in a file: RigidDistance is "rigid_distance"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


JOINTS = {file_type(cls): cls for cls in PARTS if issubclass(cls, Joint | FixedPoint) or cls.nonholonomic_names}
ACTUATORS = {file_type(cls): cls for cls in PARTS if issubclass(cls, Actuator)}
# a nonlinear spring holds a function, which a file cannot
FORCES = {file_type(cls): cls for cls in PARTS
          if file_type(cls) not in JOINTS and not issubclass(cls, Body | NonlinearSpring | Actuator)}
