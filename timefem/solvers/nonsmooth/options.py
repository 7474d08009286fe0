"""Thresholds of impacts and rigid contact, each with what it means and what was seen with others."""

from ...records import frozen


@frozen
class LawOptions:
    """Of the law of impact, and of the same law for accelerations."""

    shift: float = 1e-8  # added to the diagonal of the scaled compliance, and taken back by the proximal loop
    exact: float = 1e-11  # residual, relative to the largest velocity, that is a solution
    stalled: float = 1e-9  # residual that is one where rounding stops Newton's method
    blocked: float = 1e-12  # of the largest compliance of a contact: directions in which it cannot move
    steps: tuple[float, ...] = (1.0, 0.3, 3.0)  # r of the projections, tried one after the other
    rounds: int = 60  # of the proximal loop; one or two are used where contacts are independent
    iterations: int = 50  # of Newton's method, each
    memory: int = 6  # residuals that a step may not exceed: of the last iterations
    halvings: int = 12  # of a step
    shares: tuple[float, ...] = (1.0, 0.5, 0.25)  # of the restitutions, tried one after the other; then none
    few: int = 3  # contacts up to which Lemke's starts are tried with the restitutions as given
    facets: tuple[int, ...] = (6, 8, 16)  # of the cones of Lemke's starts
    turns: int = 4  # of these, the first one as they are, then with a facet in the direction last found
    largest_shift: float = 1e-2  # that it becomes at most where Newton's method fails with less
    bisections: int = 12  # of the share of the restitutions, where energy would grow
    pivot: float = 1e-12  # of Lemke's method, of the largest entry of a column: smaller ones are none
    pivots: int = 40  # of it, per row
    work: float = 5e8  # entries of its tables that are changed, in all: a few seconds, then the law has no solution
    gain: float = 1e-10  # of the kinetic energy, that is rounding
    kept: int = 32  # contacts up to which memory is kept from law to law, 2 MB in all: solving more takes far longer


LAW = LawOptions()


@frozen
class ContactOptions:
    """Of marches with rigid contact; speeds and gaps are those met so far."""

    touching: float = 1e-8  # of the largest gap: what is as near touches
    through: float = 1e-13  # of the largest gap: what is as far beyond a surface closed before
    still: float = 1e-9  # of the largest speed: no speed
    rest: float = 1e-5  # of the largest speed of the contact: impacts below it are without restitution: bouncing ends
    short_flight: float = 1e-6  # of the element: bounces as short are none
    first: int = 8  # elements that are solved between two searches for events, at the start
    most: int = 4096  # and at most, while nothing touches
    most_closed: int = 64  # and while something does
    samples: int = 129  # of gaps of what is on the other side at the end of an element
    seen: float = 1e-6  # of the largest gap in an element: overlap between its ends that is no rounding
    unsure: float = 1e-12  # of its largest terms in an element, beyond which a function of forces is negative
    locations: int = 40  # of one event
    stalls: float = 0.5  # of a value that is none already, above which the next one is rounding
    sliver: float = 1e-7  # of an element, between an event and a node of the mesh: no element is as short (1e-9: forms
    # without momenta of their own are off by 1e-6 after it)
    at_start: float = 1e-9  # of the largest coefficient of a gap that is zero at the start of an element: none
    varies: float = 6.0  # times what rates at the ends of an element differ, by which others in it may differ from them
    look: float = 1e-3  # of an element, after which what begins to press is seen to
    ahead: int = 32  # elements that the compiled loop of open contacts solves at once, while nothing is near
    together: int = 64  # events that it finds at once
    few: int = 4  # contacts in one impact that it takes
    room: int = 1 << 18  # numbers of elements that it solves at once
    slow: float = 5.0  # seconds in a process without the compiled loop of open contacts, from which on it is made
    stalled: int = 20  # events at one time before the march gives up there
    inside: float = 1e-8  # of the terms of a gap: overlap at the start that is refused
    events_per_element: int = 60  # of the mesh, of contacts that lose energy, from which on the fallback takes the
    # rest: bouncing to rest takes 20
    most_fallback: int = 64  # elements by the fallback at once, at most: twice as many each time that it begins anew
    corrections: int = 8  # of impulses of the fallback, where the mass matrix varies
    corrected: float = 1e-10  # change of velocities by them, of the largest
    gain: float = 1e-9  # of the kinetic energy, that an element of the fallback may gain: beyond it is too long
    reach: float = 10.0  # times the deepest overlap: contacts that are looked at where overlaps are moved apart
    beginning: float = 1e-5  # of an element, in which a slip in space begins in a fixed direction
    growth: float = 4.0  # of that length, until the slip is seen: from stick it grows by the square of the time
    seen_slip: float = 1e-3  # of `still`, some thousand times its rounding: its direction is known by as much
    bridge: float = 1e-3  # of an element, by the fallback where slips in space have no solution, then longer
    stop_ahead: float = 1.2  # of an element, within which a predicted end of sliding in space is gone to at once
    halvings: int = 8  # of an element in which something slides in space and that has no solution
    first_stop: float = 0.9  # of the predicted time
    beyond: float = 1e-3  # of the way that is left to the end of a slip: elements have no solution after as much
    lean: float = 1e-3  # of the limit of friction, beyond it: what is held in another direction is looked at again
    at_limit: float = 1e-7  # of the limit of friction, below it: what is as near slips when another contact does
    none: float = 1e-9  # of the largest force: no force
    smooth: float = 1e-6  # of speeds and impulses: distance to another outcome, below which derivatives warn
    violated: float = 1e-8  # of the largest gap, force or speed of a phase: rounding, and the error of the method
    kept: int = 64  # systems of modes that are kept from march to march: to make one takes 5 ms for 20 bodies
    again: float = 1e-11  # tolerance of increments of elements that are solved again for derivatives


CONTACT = ContactOptions()


@frozen
class RankOptions:
    """Which rows count as independent."""

    dependent: float = 1e-10  # singular value of constraints of unit length, of the largest: they repeat others
    rounding: float = 1e-14  # length of constraints, of the size of their terms: they hold nothing
    independent: float = 1e-6  # length of a row without what others have of it, of the longest of its contact
    nearly: float = 0.5  # of the longest rest of a row: the first one as long is taken, so that it is not rounding
    friction: float = 1e-4  # weight of normal forces, where forces are shared out: what can press does not rub


RANK = RankOptions()


@frozen
class BarrierOptions:
    """Of the barrier by which friction is shared within its limits, in parts of the largest of these."""

    weights: tuple[float, ...] = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # of the barrier: margins are known to
    # the square of the last one
    near: float = 0.25  # length of a step in its metric, from which on Newton's method converges quadratically
    found: float = 1e-7  # length of a step that is the last one
    iterations: int = 20  # of each weight, of which about six are used


BARRIER = BarrierOptions()
