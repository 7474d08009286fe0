"""Numbers of a part that enter other parts as well: of motors with rotors, and of actuators that controllers move."""

import numpy as np

from ..mechanics.bodies.tree.entries import derivative
from ..mechanics.forces.motor import Motor
from ..mechanics.part_groups import own_members
from .attribute_derivatives import derivative_of_own
from .function_derivatives import place_of


def in_controllers(system, places, part):
    """Where among all numbers those of an actuator are in the controllers that move it, list of int."""
    return [places.start[controller] + controller.starts[i] for controller in system.parts
            for i, drive in enumerate(controller.drives) if system.here(drive) is part]


def only_driven(system, part):
    """The actuator itself, or of that name, that controllers move and that is not in the system; else None."""
    part = system.here(part)
    drives = [drive for controller in system.parts for drive in controller.drives if drive not in system.parts]
    return next((drive for drive in drives if drive is part or (drive.name is not None and drive.name == part)), None)


def of_motor(system, z, motor, name, label):
    """How the gear or the rotor's inertia of a motor changes what the rotor is in the system.

    On a tree that is the armature `J gear^2` of the joint; else a body with J whose angle is gear times the coordinate.

    Returns
    -------
    own : ndarray, shape (n_own, 1)
        Of the numbers of the motor.
    parts : list of (Part, ndarray)
        Further parts, and how their numbers change.
    start : tuple
        The rotor, and how its angle and its rate at the start change; None on trees.
    """
    if motor.on_tree:
        own, _ = derivative_of_own(motor, name, None, label)
        gear, inertia = motor.gear, motor.reflected_inertia
        by_armature = 2 * inertia * gear if name == "gear" else gear**2
        tree, joint = motor.joint.carrier, motor.joint.called[1]
        matrix, _, _ = derivative(tree, f"{joint}.armature", None, label)
        return own, [(tree, by_armature * matrix)], None
    rotor, gear = own_members(system.parts, motor.helpers)
    own = np.eye(len(motor.own_parameters))[:, [place_of(motor, name)]]
    if name == "rotor_inertia":
        return own, [(rotor, np.ones((1, 1)))], None
    last = np.eye(len(gear.own_parameters))[:, [-1]]
    states = {body: (z[:system.n_q][system.coordinates(body)], z[system.n_q:][system.coordinates(body)])
              for body in motor.bound.bodies}
    return own, [(gear, last)], (rotor, *motor.bound.local(states))


def enters_rotor(part, name):
    """Whether a number of a part is one that `of_motor` knows."""
    return isinstance(part, Motor) and name in part.settled
