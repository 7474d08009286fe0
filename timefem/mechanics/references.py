"""How descriptions of systems in files name bodies, joints and other parts."""

from ..errors import InputError
from .body_frame import is_on_tree


class Refer:
    """Plain data in the place of bodies, joints and actuators.

    Parameters
    ----------
    system : System
    places : dict
        Part -> its number among those described.
    entry_of : callable
        Describes an actuator that is not in the system.
    """

    def __init__(self, system, places, entry_of):
        self.system, self.places, self._entry_of = system, places, entry_of
        self._number = {body: i for i, body in enumerate(body for body in system.bodies if not body.helper)}

    def is_body(self, part):
        return part in self._number

    def body(self, body):
        """Its number; of a composite part its own, of a point of it with the place; of frames of a tree with their
        names."""
        body = self.system.here(body)
        if body in self._number:
            return self._number[body]
        if is_on_tree(body):
            return [self._number[body.body], *body.address]
        composite = body if body in self.system.composites else body.owner
        at = {} if composite is body else {"at": body.s}
        return {"composite": carrying(self.system.composites).index(composite), **at}

    def joint(self, joint):
        joint = self.system.here(joint)
        if joint in self.places:
            return self.places[joint]
        if not (is_on_tree(joint) and self.system.has(joint)):
            raise InputError(f"the system cannot be saved: {joint!r} is not in it")
        return self.body(joint)

    def coordinate(self, bound):
        """A joint, and the name of its coordinate."""
        return [self.joint(bound.owner), bound.coordinate.name]

    def part(self, part):
        part = self.system.here(part)
        return self.places[part] if part in self.places else self._entry_of(part, self)


class Found:
    """What such data stands for."""

    def __init__(self, bodies, composites, parts, make):
        self._bodies, self._composites, self._parts, self._make = bodies, composites, parts, make

    def body(self, reference):
        if isinstance(reference, list):
            return self._bodies[reference[0]].frame_at(*reference[1:])
        if not isinstance(reference, dict):
            return self._bodies[reference]
        composite = self._composites[reference["composite"]]
        return composite.at(reference["at"]) if "at" in reference else composite

    def joint(self, reference):
        return self.body(reference) if isinstance(reference, list) else self._parts[reference]

    def coordinate(self, reference):
        return self.joint(reference[0]), reference[1]

    def part(self, reference):
        return self._make(reference, self) if isinstance(reference, dict) else self._parts[reference]


def carrying(composites):
    return [c for c in composites if c.nodes]
