"""What the compiled loop of flights takes: records of arrays and thresholds."""

import numpy as np

from ....kernels.record import Record
from ....mechanics.values.evaluate import Tables
from ...march.loop import MarchArrays
from ..impact_loop import Law
from ..mobility import Block

FLIES, LOOKS, STRIKES = range(3)  # how a flight ends: it goes on; at an element, or at a node, that needs more
# sizes of the law at nodes, in this order
SPEED, LENGTH, STILL, ROUNDING, MET, PULLED = range(6)


class Formulas(Record):
    """Tables of evaluators, and where what they give stands."""

    gaps: Tables  # gaps, then their rates, by states
    velocity: Tables  # by states
    momentum: Tables  # by states and velocities
    motion: Tables  # by coordinates and velocities, and further inputs that are zero
    at_gaps: np.ndarray  # (1, n) scratch, values
    at_velocity: np.ndarray
    at_momentum: np.ndarray
    at_motion: np.ndarray  # (2, n), of the start of an element, and of its end
    of_states: np.ndarray  # (1, n_z) scratch, inputs
    of_both: np.ndarray  # (1, n_z + n_q)
    of_motion: np.ndarray
    time: np.ndarray  # (1,)
    first: np.ndarray  # where quantities begin among the values of the motion, in the order of `QUANTITIES`
    mass: np.ndarray  # (n_entries, 3) of int: row, column, place among these values
    jacobian: np.ndarray  # the same of the rows of contacts


QUANTITIES = ("row", "second", "third", "gap", "gap rate", "gap acceleration", "slip", "slip rate", "restitution",
              "friction", "load")
ROW, SECOND, THIRD, GAP, GAP_RATE, GAP_ACCELERATION, SLIP, SLIP_RATE, RESTITUTION, FRICTION, LOAD = range(11)


class Moving(Record):
    """How forces move bodies, at the start of an element and at its end."""

    block: Block  # all blocks as one kind: coordinates that are none have the index n_q, and a mass of one
    place: np.ndarray  # (n_q, 2) of int, block and place there of each coordinate
    helpers: np.ndarray  # coordinates that count turns
    v: np.ndarray  # (2, n_q)
    force: np.ndarray  # (2, n_q + 1)
    right: np.ndarray  # (2, n_rows)
    roots: np.ndarray  # (2, n_blocks, b, b)
    acceleration: np.ndarray  # (2, n_q + 1)
    rooted: np.ndarray  # (3 n_contacts, n_blocks b)
    pushed: np.ndarray  # (2, n_blocks b) scratch
    change: np.ndarray  # (n_q + 1,) scratch


class Rows(Record):
    """The rows of contacts."""

    tangents: np.ndarray  # rows of slip among the three of each
    n_slip: np.ndarray
    label: np.ndarray  # of each contact, number of the set of bodies that it depends on
    alike: np.ndarray  # the same, apart for lengths and for angles
    of: np.ndarray  # number of the set of each coordinate
    sums: np.ndarray  # (2, n_sets) scratch
    sizes: np.ndarray  # (6, n_contacts), see above
    zero: np.ndarray  # of int, whether the gap is zero at the start as it has just opened
    gap: np.ndarray  # (2, n_contacts) at the start and at the end of an element
    rate: np.ndarray
    gamma: np.ndarray  # (2, 3 n_contacts)
    free: np.ndarray
    near: np.ndarray  # contacts that may close in an element
    ends: np.ndarray  # (2, n_contacts, 3) of these: gap, rate, acceleration
    lengths: np.ndarray
    still: np.ndarray
    at_zero: np.ndarray
    scratch: np.ndarray  # (5, 6)
    found: np.ndarray  # (n_contacts, 3)


class Limits(Record):
    """Thresholds: see `ContactOptions` and `LawOptions`."""

    touching: float
    through: float
    still: float
    unseen: float
    rest: float
    short_flight: float
    sliver: float
    locations: int
    shift: float
    blocked: float
    stalled: float
    gain: float
    most: int  # events in one element of the mesh
    ahead: int


class Told(Record):
    """What a flight gives."""

    x: np.ndarray  # (n, n_local) dofs of elements
    ends: np.ndarray  # (n,) their ends
    iterations: np.ndarray
    where: np.ndarray  # (n_events, 3) of int: elements before, contact that closes, how many touch
    contacts: np.ndarray  # (n_events, few) of int
    statuses: np.ndarray
    numbers: np.ndarray  # (n_events, 3) time, energy, distance
    impulses: np.ndarray  # (n_events, few, 3)


class Flight(Record):
    """A flight: where it is, and all that the loop takes."""

    march: MarchArrays
    one: MarchArrays  # of one element
    best: np.ndarray  # (n_local,) dofs of the best one
    state: np.ndarray  # (n_shapes, n_z) places of the state among the dofs of an element
    formulas: Formulas
    moving: Moving
    rows: Rows
    limits: Limits
    alone: Law  # of one contact
    few: Law  # of some; those that are not there have no compliance
    x: np.ndarray  # (2, 3 few) impulses, and velocities before, scaled
    size: np.ndarray  # (3 few,)
    rest: np.ndarray  # (few,)
    told: Told
    t: np.ndarray  # (1,)
    z: np.ndarray  # (2, n_z) here, and at the end of the element
    counts: np.ndarray  # elements, events, and the contact that closes where the flight ends, of int
