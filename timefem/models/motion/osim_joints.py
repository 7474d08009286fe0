"""Joints of OpenSim models as chains of joints with one coordinate each."""

import numpy as np

from ... import validate
from ...mechanics.bodies.tree.links import Link, TreeJoint
from ..surfaces import about

X, Y, Z = np.eye(3)
STANDARD = {  # in the order of their coordinates: whether it turns, and its axis; places go before turns
    "PinJoint": [(True, Z)], "SliderJoint": [(False, X)], "UniversalJoint": [(True, X), (True, Y)],
    "BallJoint": [(True, X), (True, Y), (True, Z)], "PlanarJoint": [(True, Z), (False, X), (False, Y)],
    "FreeJoint": [(True, X), (True, Y), (True, Z), (False, X), (False, Y), (False, Z)], "WeldJoint": []}


class Axis:
    """An axis of a joint: its coordinate moves it to `factor q + offset`; without one it stays at the offset."""

    def __init__(self, turns, axis, coordinate, factor=1.0, offset=0.0):
        self.turns, self.axis, self.coordinate, self.factor, self.offset = turns, axis, coordinate, factor, offset


class OsimJoints:
    """Joints of a model.

    Attributes
    ----------
    links, joints : list
        Links between bodies that have no mass, and joints of a tree.
    start : dict
        Coordinate -> default value.
    """

    def __init__(self, file, notes):
        self.file, self.notes, self.links, self.joints, self.start = file, notes, [], [], {}
        self._limits, self._locked = {}, {}

    def read(self, element):
        """Take a joint."""
        file, name = self.file, self.file.name(element)
        parent, turn, place = file.frame(element, "socket_parent_frame")
        child, turn_c, place_c = file.frame(element, "socket_child_frame")
        coordinates = [self._coordinate(c) for c in file.objects_in(element, "coordinates")]
        if element.tag == "CustomJoint":
            axes = self._custom(element, coordinates)
        elif element.tag in STANDARD:
            standard = STANDARD[element.tag]
            if len(coordinates) != len(standard):
                raise file.error(element, f"needs {len(standard)} coordinates, not {len(coordinates)}")
            axes = [Axis(turns, axis, c) for (turns, axis), c in zip(standard, coordinates, strict=True)]
            axes.sort(key=lambda one: one.turns)  # stable
        else:
            raise file.error(element, f"is not read; CustomJoint, {', '.join(STANDARD)} are")
        masters = self._masters(element, axes)
        for i, one in enumerate(axes):
            if one.coordinate in self._locked:
                one.offset, one.coordinate = one.offset + one.factor * self._locked[one.coordinate], None
            if one.coordinate is None:
                place, turn = _moved(one, one.offset, place, turn)
                continue
            link = f"{name} {i + 1}"
            self.links.append(Link(link, shapes=None))
            self._add(one, one in masters, parent, link, (place, turn))
            parent, turn, place = link, np.eye(3), np.zeros(3)
        back = turn @ turn_c.T
        self.joints.append(TreeJoint(f"{name} end", parent, child, "fixed", place - back @ place_c, back))

    def _coordinate(self, element):
        file, name = self.file, self.file.name(element)
        value = file.numbers(element, "default_value", 1, (0.0,))[0]
        if file.text_of(element, "locked", "false").lower() == "true":
            self._locked[name] = value
            self.notes.append_named("the coordinate {} is locked and stays at its default value", name)
        else:
            self.start[name] = float(value)
            low, high = file.numbers(element, "range", 2, (-np.inf, np.inf))
            if np.isfinite([low, high]).all() and file.text_of(element, "clamped", "false").lower() == "true":
                self._limits[name] = {"lower": float(low), "upper": float(high)}
        return name

    def _custom(self, element, coordinates):
        """Axes of a spatial transform: places first, then turns, in their order."""
        file, found = self.file, []
        transform = file.child(element, "SpatialTransform")
        for axis in transform.iterfind("TransformAxis"):
            label = file.name(axis)
            turns = label.startswith("rotation")
            own = file.text_of(axis, "coordinates", " ").split()
            direction = validate.direction(f"{file.path}: axis of {label}", file.numbers(axis, "axis", 3))[1]
            factor, offset = self._function(axis, element, bool(own))
            if len(own) > 1:
                raise file.error(axis, f"moves by {len(own)} coordinates; one is read")
            if own and own[0] not in coordinates:
                raise file.error(axis, f"moves by {own[0]!r}, which is not a coordinate of its joint")
            coordinate = own[0] if own and factor else None
            if coordinate or offset:
                found.append(Axis(turns, direction, coordinate, factor, offset))
        return sorted(found, key=lambda one: one.turns)

    def _function(self, axis, joint, moves):
        """Factor and offset of a linear or constant function."""
        file = self.file
        holder = axis.find("function")
        function = next((e for e in (axis if holder is None else holder)
                         if e.tag.endswith("Function") or e.tag in ("Constant", "SimmSpline")), None)
        scale = 1.0
        while function is not None and function.tag == "MultiplierFunction":
            scale *= file.numbers(function, "scale", 1, (1.0,))[0]
            inner = function.find("function")
            function = None if inner is None else next(iter(inner), None)
        if function is None:
            return (1.0, 0.0) if moves else (0.0, 0.0)
        if function.tag == "Constant":
            return 0.0, scale * file.numbers(function, "value", 1, (0.0,))[0]
        if function.tag == "LinearFunction":
            factor, offset = file.numbers(function, "coefficients", 2)
            return scale * factor, scale * offset
        raise file.error(axis, f"of joint {joint.get('name')!r} moves by a {function.tag}, which is not read; linear "
                               "and constant functions are")

    def _masters(self, element, axes):
        """Of each coordinate the axis that it moves as it is, which its joint of the tree stands for."""
        found = []
        for coordinate in dict.fromkeys(one.coordinate for one in axes if one.coordinate not in (None, *self._locked)):
            own = [one for one in axes if one.coordinate == coordinate]
            master = next((one for one in own if abs(one.factor) == 1.0), None)
            if master is None:
                raise self.file.error(element, f"has no axis that {coordinate!r} moves with the factor 1 or -1; state "
                                               "the coordinate as the motion of one of its axes")
            found.append(master)
        return found

    def _add(self, one, is_master, parent, link, frame):
        """A joint of a tree, called as its coordinate; those of the other axes of a coordinate follow it."""
        kind = "revolute" if one.turns else "prismatic"
        if is_master:
            place, turn = _moved(one, one.offset, *frame)
            self.joints.append(TreeJoint(one.coordinate, parent, link, kind, place, turn, one.axis * one.factor,
                                         limits=self._limits.get(one.coordinate, {})))
            return
        self.joints.append(TreeJoint(f"{one.coordinate} of {link}", parent, link, kind, *frame, one.axis,
                                     mimic=(one.coordinate, one.factor, one.offset)))

    def couple(self, element):
        """Let a coordinate follow another one, by a linear function."""
        file = self.file
        names = file.text_of(element, "independent_coordinate_names").split()
        dependent = file.text_of(element, "dependent_coordinate_name")
        if len(names) != 1:
            raise file.error(element, f"depends on {len(names)} coordinates; one is read")
        holder = file.child(element, "coupled_coordinates_function")
        factor, offset = self._function(holder, element, True)
        for i, joint in enumerate(self.joints):
            if joint.name == dependent:
                self.joints[i] = TreeJoint(joint.name, joint.parent, joint.child, joint.kind, joint.position,
                                           joint.orientation, joint.axis, mimic=(names[0], factor, offset))
                self.start.pop(dependent, None)
                return
        raise file.error(element, f"couples {dependent!r}, which is not a free coordinate of the model")


def _moved(one, value, place, turn):
    """Place and rotation matrix of a frame that is moved along or about an axis of its own."""
    if one.turns:
        return place, turn @ about(one.axis, value)
    return place + turn @ one.axis * value, turn
