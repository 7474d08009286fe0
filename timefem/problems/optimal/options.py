"""Thresholds of optimal control: guesses, ends, contact, meshes, and what is reported about a failure."""

from __future__ import annotations

from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class OptimalOptions(Options):
    """Thresholds of optimal control: guesses, ends, contact, meshes, and what is reported about a failure."""

    # ---- between points
    between_far: float = option(
        0.01, "what rows miss between their points, over the range of a formula, or of its terms where it is an "
        "equation, from which on it is reported", "1.2 % of the range of a crouch make a hop 1.2 % too high")
    between_far_with_controls: float = option(
        0.1, "the same of formulas of controls as well", "they are polynomials of lower degree")
    between_wrong: float = option(
        0.05, "the same of formulas of states, from which on they are to hold at Gauss points, too, or the solve "
        "fails; and what all elements together miss of a motion that costs more than twice as much between them",
        "the cost sees points at which a limit need not hold: a flight over peaks cost 799 for 2031")
    between_rounding: float = option(
        1e-4, "of the size of a formula, at least, that is taken for its range, as where a limit is active all along")
    driven: float = option(
        0.02, "work of a rigid contact on the motion, over the mean force times the range of the gap")

    # ---- contact march
    march_window: int = option(16, "elements of the first window of a march with contact")
    march_longer: int = option(2, "factor by which windows grow")
    march_shorter: int = option(4, "factor by which windows shrink")
    march_quick: int = option(3, "Newton steps up to which windows grow")
    march_few: int = option(6, "Newton steps of a window at most")
    march_most: int = option(30, "Newton steps of a single element at most")
    march_tolerance: float = option(1e-10, "tolerance of these steps")

    # ---- contact stages
    stage_fall: float = option(0.1, "factor of eps from one stage to the next")
    stage_greatest_fall: float = option(1e-3, "factor of eps at the greatest fall")
    stage_least_fall: float = option(0.7, "factor of eps at the least fall")
    stage_quick: int = option(10, "iterations of a stage, at most, after which the next fall is longer")
    stage_longer: float = option(1.5, "power by which it is longer")
    stage_settled: float = option(
        1e-3, "eps over the first one below which falls may be longer: before, contacts still open and close, and "
        "IPOPT failed after long falls")
    stage_rounding: float = option(1.01, "factor of eps that is rounding")
    stage_tolerance: float = option(1e-2, "tolerance of a stage before the last one, over the root of eps")
    stage_most_tolerance: float = option(1e-2, "the same at most")
    stage_iterations: int = option(200, "iterations of a stage that may be tried with a shorter fall")

    # ---- sizes
    rounding_of_states: float = option(1e-9, "size of states of first order at the ends that is rounding, over others")

    # ---- several
    starts: int = option(8, "starts of `solve_all`")
    ill_determined: float = option(
        1 / 3, "power of the agreement of costs to which states of one minimum agree, where costs are flat")

    # ---- controllability
    no_effect: float = option(1e-9, "relative size of an effect that is none")
    nearby: float = option(0.3, "controls beside the guess, where reach is tried once more, scaled")
    uncontrolled: float = option(
        1e-8, "miss of conditions that the motion meets whatever actuators do, scaled, or of the sum it is left of")
    grows_too_far: float = option(
        1e8, "of changes along a guess, scaled, beyond which small effects are lost in rounding")

    # ---- end conditions
    unseen: float = option(
        1e-8, "gradient of what nothing changes, over that in general position, where it tells nothing: of r x p of a "
        "mass at rest at r = 0")
    contrary: float = option(1e-6, "difference of what nothing changes, over its terms, that no rounding makes")
    end_searches: int = option(3, "searches of a state at an end")
    end_steps: int = option(8, "steps on the way to it where joints have to stay closed")

    # ---- end limits
    limit_searches: int = option(4, "searches of ends within limits")
    limit_spread: float = option(0.1, "how far apart their starts are, over the size of states")
    limit_met: float = option(1e-9, "violation of limits at ends that is rounding")

    # ---- equations
    regular: float = option(
        1e-9, "subtracted from the diagonal of equations, of which some may depend on each other, to count inertia")

    # ---- errors
    remaining: float = option(
        0.5, "error that is left on the halved mesh, over that on the mesh, at most, also where a control jumps "
        "anywhere")

    # ---- fast turns
    turns_looked_at: int = option(100, "iterations after which to look")

    # ---- guess
    rounded: float = option(1e-6, "how far a number that a solve found may lie beyond its bound, over the bound")

    # ---- guess balance
    balance_samples: int = option(
        9, "places along a path at which forces balance; between them balance is interpolated")
    inside: float = option(0.1, "of the range between bounds, that controls keep from them")

    # ---- guess draws
    waves: int = option(3, "waves of a control that is drawn")
    wide: float = option(10.0, "upper bound over a positive lower one, above which magnitudes are drawn")

    # ---- guess paths
    path_samples: int = option(
        17, "configurations that a path goes through, where joints have to be closed or it is bent")

    # ---- guess pumping
    pumping_longest: int = option(20, "length of a march that pumps energy, in guesses of the duration")
    pumping_per_span: int = option(80, "elements of it for each of these")
    pumping_width: float = option(0.05, "width of the change of sign of controls, over the largest rate")
    pumping_kick: float = option(0.2, "how far off its middle a march begins, to leave a rest")
    pumping_samples: int = option(200, "states and controls of a guess by energy pumping")

    # ---- guess rates
    control_steps: int = option(5, "Gauss-Newton steps to controls that enter in another way than linearly")
    balanced: float = option(1e-6, "of accelerations, below which such a step has nothing to gain")
    rate_samples: int = option(9, "controls along a guess, between which they are interpolated")
    states_per_sample: int = option(4, "states for the accelerations at each of these")
    accelerations_left: float = option(0.1, "of the accelerations on the way, that controls need not make")

    # ---- guess shapes
    closing_steps: int = option(20, "Gauss-Newton steps that close joints of a guess")
    closed: float = option(1e-10, "violation of joints at which these end")
    repeated: float = option(1e-8, "singular values of joints, relative, below which they repeat others")

    # ---- guess turns
    full_turn: float = option(1e-12, "vector of a quaternion that rounding makes, of a full turn")
    singular_turn: float = option(0.1, "below which changes of axis times angle do not turn")

    # ---- jumps
    jump_halvings: int = option(40, "halvings of an element in which the time of a jump is found")
    jump: float = option(1e-3, "of a cost or a force, over the largest value of it, from which on it is reported")
    jump_aside: float = option(1e-6, "of an element, beside a switch, where the values before and after are taken")

    # ---- limits
    compared_depth: int = option(20, "depth of expressions that are compared")
    compared_times: int = option(101, "times at which bounds that depend on it are compared")

    # ---- mesh sequence
    many_elements: int = option(
        128, "elements from which on a problem with inequalities is solved on coarser meshes first",
        "18 problems on 160 to 240 elements cost as much or less, four of them 1.5 to 63 % less, in half the time; on "
        "80 to 128 coarse meshes gain no time")
    coarse: int = option(64, "elements of the coarsest mesh, which ranks do not share")
    mesh_ratio: int = option(10, "factor of elements from one mesh to the next")
    kept_numbers: float = option(
        2e6, "numbers in the dense blocks of all elements, up to which equations stay as long as their problem "
        "lives")
    rough_residual: float = option(
        1e-9, "residual that is enough on all meshes but the last: far below what a finer mesh changes")
    iterations: int = option(200, "iterations of a solve unless more are asked for")
    runaway: float = option(100.0, "durations over the first one that are reported where a solve fails")
    marched_steps: int = option(
        12, "first steps that turn bodies too far, whose controls are marched", "satellites with wheels take 1 or 2")
    sketch_halvings: int = option(5, "of the steps of such a march, at most: what is stiffer takes minutes")
    stretched: float = option(
        1.0, "of what holds a body rigid, such as the squared length of a quaternion less one, after such a step",
        "a turn by 2 rad in quaternions, by 1 rad in directors")
    few_steps: int = option(60, "steps for equations alone, after which the interior-point method is tried")

    # ---- nonlinear program
    shortest: float = option(1e-6, "duration over its guess")

    # ---- optimal end
    held_by: float = option(1e-6, "change of conditions that no actuator moves, by their costates, which are zero then")

    # ---- point rows
    no_bound: float = option(
        1e3, "bounds over what variables of size one change, from which on they may stand for none")
    points_together: int = option(10, "points of which formulas are one expression, at most")
    machine_code_from: int = option(2000, "instructions of formulas at a point from which on they are machine code",
                                    "which takes CasADi some 10 us for each point, and a second to make once")

    # ---- replay
    replayed_elements: int = option(20000, "elements up to which a solution is looked at on finer ones")
    replayed_share: float = option(
        0.381966, "of an element, where it is divided in two for that",
        "one point of an element, and those of its halves, see what repeats in a quarter of it in one phase: of 432 "
        "costs and forces in step with elements 34 were wrong silently, and 13 are")
    unresolved: float = option(
        0.02, "miss of an element alone, over the size of its states, or of the cost, from which on it is reported",
        "45 problems of galleries miss 2e-3 at most")
    costs_alone: float = option(
        10.0, "cost of a unit of time in an element, over that in those beside it, from which on it is alone",
        "of 90 problems none has an element with 0.1 % of the cost and 4 times as much; where a sign jumps within one, "
        "which controls between bounds that hold at all of its points cannot, it is 1000")
    unresolved_cost: float = option(
        1e-6, "difference of the cost that counts, over what changes of size one make of it")

    # ---- minimum principle
    controls_tried: int = option(25, "values of a control between its bounds that are tried in each element")
    costs_less: float = option(1e-4, "what other controls of an element cost less, over the mean cost of an element, "
                                     "from which on a solve starts from them")
    controls_left: int = option(6, "solves from such controls")
    other_minimum: float = option(1e-3, "difference of costs, over these, that other elements do not make: of another "
                                        "minimum")
    gained: float = option(1e-6, "of the cost that such a solve has to gain")

    # ---- smoothed kinks
    kink_width: float = option(1e-2, "width of a smoothed kink, of the size of what it is of, up to which roots are "
                                     "replaced by controls at first")
    steps_before_roots: int = option(100, "iterations at most before controls stand for smoothed kinks")
    steps_from_roots: int = option(200, "iterations from there at most")
    root_samples: int = option(20, "values of states and controls that tell the size of a root")

    # ---- reduced again
    reduced_missed: float = option(1e-3, "miss of a condition, scaled, below which are errors of the elements")
    reduced_more: float = option(10.0, "the same, times what constraints miss")
    reductions: int = option(3, "times that conditions are reduced anew")

    # ---- sizes
    turn: float = option(1.0, "turn per element and degree that is too fast [rad]")
    turn_reached: float = option(0.9, "share of that from which on it is reported")
    drives: float = option(
        1e-3, "share of what a control accelerates that is along the motion, from which on it drives that")
    typical_objective: float = option(
        100.0, "scaled objective of the interior-point method; 10 takes a tenth more iterations, 1 more still")

    # ---- spring contact
    band: float = option(1e-4, "of the band that is left to rows at last, over the length sqrt(eps): times the "
                               "stiffness it is a pull")
    first_over_last: float = option(1e3, "first eps over the last one")

    # ---- start
    changed: float = option(1e-9, "derivative of a constraint by an unknown number, from which on it counts")

    # ---- strategies
    other_guesses: int = option(3, "guesses with waving controls, where there are inequalities")

    # ---- switches
    saturated: float = option(1e-3, "of the range: how near its bound a control is at it")
    widest_switch: int = option(2, "elements over which a switch is spread")
    switch_moves: int = option(5, "solves with moved nodes at most")
    switch_settled: float = option(1e-7, "moves of nodes, of an element, that are none")
    dependent_switches: float = option(1e-9, "singular values of conditions by switches, of the largest, that are none")
    switch_best: float = option(1e-4, "the same, of nodes that go to where the cost is least")
    least_element: float = option(0.05, "what is left of an element beside a switch")


OPTIONS = OptimalOptions()
