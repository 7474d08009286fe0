"""Thresholds of nonlinear solvers: the interior-point method, and all others."""

from __future__ import annotations

from ...records import frozen
from ...validate.options import Options, documented, option


@documented
@frozen
class NonlinearOptions(Options):
    """Thresholds of nonlinear solvers other than those of `InteriorPointOptions`."""

    # ---- centred
    centred_least: float = option(1e-5, "size that a variable is scaled by, at least")
    centred_relaxed: float = option(1e-8, "by which bounds are relaxed, as by the other methods")
    no_multiplier: float = option(1e-20, "multiplier that is none")

    # ---- enlarged
    small_objective: float = option(0.1, "objective below which it is scaled up")
    most_enlarged: float = option(1e6, "factor of this at most")

    # ---- fatrop
    fatrop_rough: float = option(1e-4, "tolerance of the first solve")
    fatrop_near: int = option(100, "iterations of a solve that starts near a solution; most take 4 to 20")
    fatrop_acceptable: float = option(1e-6, "error that is accepted where fatrop gives up")
    fatrop_unsolved: float = option(1e-5, "error of its answer from which on it is none")

    # ---- homotopy
    first_step: float = option(0.125, "first step of a homotopy")
    least_step: float = option(1e-4, "least step of a homotopy")
    quick: int = option(5, "iterations up to which the next step is longer")

    # ---- program
    opposed: float = option(1e-3, "multiplier of a limit, over the largest, from which on it stands against a solution")
    near_bound: float = option(1e-3, "distance to a bound, scaled, that is near")
    missed: float = option(1e-6, "violation from which on a row is reported")
    motion_share: float = option(
        0.01, "of what equations of motion miss, from which on what somebody asked for is named in their place")

    # ---- saddle point
    saddle_rounding: float = option(1e-8, "residual that may be rounding, if it falls no more")
    saddle_shortest: float = option(1e-4, "step of the line search")
    saddle_close: float = option(
        0.3, "relative size of a full Gauss-Newton step after which Newton's method takes over")
    saddle_share: float = option(0.2, "share of the costates below which there are none")
    saddle_escape: float = option(0.2, "relative size of a step away from a point that is not a minimum")
    saddle_escapes: int = option(3, "such steps")
    dense_eigenvalues: int = option(
        100, "unknowns up to which all eigenvalues are found, by no iteration that may fail")

    # ---- symmetric solver
    small_pivot: float = option(
        1e-12, "pivot, relative to the norm of the matrix, that an LU has to judge: it may be rounding")
    most_entries: float = option(
        5e6, "entries of the lower triangle up to which the places in blocks are worth their memory")


OPTIONS = NonlinearOptions()


# ---- the interior-point method

@documented
@frozen
class InteriorPointOptions(Options):
    """Thresholds of `InteriorPoint`; the defaults suit most problems.

    Names and values are those of A. Waechter, L. T. Biegler (Math. Program. 106 (2006) 25-57) where it has them.
    """

    # ---- scaling and bounds
    relaxed: float = option(1e-8, "by which bounds are relaxed, relative to max(1, their size)")
    largest_gradient: float = option(100.0, "gradient at the start from which on objective and rows are scaled down")
    largest_limit: float = option(
        30.0, "limit of a row from which on that is scaled down", "of squares of forces, say, slacks are far from "
        "one, and violations of second order larger than any that the filter takes")
    least_scale: float = option(1e-3, "by which such a row is scaled down at most", "a large limit may stand for none")
    few_blocks: float = option(100.0, "blocks up to which the objective is not scaled up for their number")
    one_sided: float = option(1e-5, "weight of what keeps variables with one bound from growing")
    clipped: float = option(1e10, "factor of mu over the slack within which multipliers of bounds stay")
    push: float = option(1e-2, "by which a start is put inside of bounds, absolute and of the range")

    # ---- mu
    mu_start: float = option(0.1, "mu at the start")
    mu_warm: float = option(1e-4, "mu at a start close to a solution")
    mu_pushed: float = option(1e-2, "mu at least after a push away from a saddle point")
    sufficient: float = option(10.0, "error over mu below which mu falls")
    sufficient_in_valley: float = option(
        1.0, "the same while the regularisations of the Hessian, the last one and this, are those of a valley",
        "along it the gradient is small far from the minimum, and once mu has fallen, bounds leave short steps only")
    valley_from: float = option(3e-6, "regularisation from which on it is that of a valley",
                                "between 1e-6 and eight times that, which regularisations take")
    valley_to: float = option(6e-3, "regularisation up to which it is that of a valley",
                              "between 1e-2, often the first that is needed, and a third of it")
    slowest_fall: float = option(0.2, "factor by which mu falls at least")
    fastest_fall: float = option(0.01, "factor by which mu falls at most; far ahead of the iterate, steps are short")
    close_error: float = option(0.5, "error of an iterate that is close to a solution")
    large_multiplier: float = option(100.0, "mean multiplier from which on errors are relative to it")
    least_share: float = option(0.01, "least mu over the mean product now, of predictions")
    restarted: float = option(0.8, "share of the mean product that mu is at least where errors grow along predictions")
    remembered: int = option(4, "errors of predictions of which one has to be larger than the next")
    weak: float = option(0.1, "share of mu over the slack that multipliers of bounds have at least at a warm start")

    # ---- the end of the iterations
    start_iterations: int = option(1000, "iterations from one start at most, of those of the whole solve")
    acceptable: float = option(1e-6, "error that is accepted when it does not fall further")
    accepted_after: int = option(15, "iterations with such an error after which it is accepted")
    nearly: float = option(1e-3, "violation of rows below which the objective tells its size")
    fallen: float = option(-1e12, "scaled objective that tells that there is no least value",
                           "gradients are at most 100 at the start")
    far: float = option(1e8, "size of some variable beside it", "variables are about one")
    final_steps: int = option(8, "steps at the end until the step itself is small")
    final_falls: float = option(0.5, "what is left of the size of a step in the next one of these at most")
    large_step: float = option(
        100.0, "size of a step, relative to 1 + |w|, over the tolerance from which on there are final steps",
        "where the Hessian needed a regularisation, rounding decides on that, and ranks come to the end by other ways")
    large_step_convex: float = option(
        1e5, "the same where it never did", "ranks take the same steps, and what is left of large ones is that of "
        "limits that are just reached, from which the last mu keeps away as far")
    small_step: float = option(10.0, "the same below which they end")
    shorter: float = option(100.0, "times that steps by factors of the iterate before, with a larger mu, are too short "
                                   "at most, where the barrier alone curves")

    # ---- filter and line search
    most_violation: float = option(
        10.0, "growth of the violation that the filter allows", "the published 1e4 lets constraints of rotations be "
        "left so far, for a little less cost, that none of the later steps finds back: a payload on a weld, of 40 "
        "elements, violation 14 -> 5900")
    rounding: float = option(1e-14, "violation per row, sized one, that is rounding and counts as none")
    most_violation_restoring: float = option(1e4, "the same of the restoration")
    gamma_theta: float = option(1e-5, "share of the violation that a step must gain")
    gamma_phi: float = option(1e-8, "share of the violation by which the barrier function must fall else")
    eta: float = option(1e-8, "share of the slope of the barrier function that a step must gain")
    s_theta: float = option(1.1, "power of the violation in when it counts more than the barrier function")
    s_phi: float = option(2.3, "power of the slope there")
    shortest_step: float = option(0.05, "shortest step, of those that can be accepted")
    shortest_predicted: float = option(0.05, "shortest step that counts on products of changes, of whole steps")
    crawling_steps: int = option(5, "short steps in a row after which the restoration begins")
    crawling_length: float = option(0.1, "share of the Newton step below which steps are short")
    crawling_violation: float = option(
        0.98, "violation that they leave at least for the rows to be restored",
        "multipliers grow without end there; not at a start close to a solution, where steps are short at first")
    emptied: int = option(5, "times that a filter that refuses longer steps is emptied, as by IPOPT")
    wider: float = option(10.0, "times the violation that a filter allows once it was emptied",
                          "steps may crawl along that")
    corrections: int = option(4, "second-order corrections of a step")
    correction_falls: float = option(0.99, "what each must leave at most of the violation")
    corrected_below: float = option(0.9, "length below which predicted steps are corrected towards centrality")
    longer: float = option(0.3, "how much longer these are to become")
    gain: float = option(0.1, "the share of that by which both lengths together must grow")
    corrected_above: float = option(1e-6, "mu up to which there is no such correction",
                                    "at the end products are to be equal, on which last digits depend")

    # ---- restoration
    rho: float = option(1000.0, "weight of the violation in the restoration")
    centred: float = option(300.0, "times that bounds count more in restorations after one that found no way on",
                            "about as much as in the program itself, whose rows have no such weight")
    restored: float = option(0.9, "how much of the violation a restoration may leave")
    restored_again: float = option(0.5, "times what, at each further one")
    pulled: float = option(
        1e-3, "violation that is worth what holds iterates near the first one, over what is left, up to which that is "
        "a least one", "to take away a violation at one end of 100 elements all of them have to move")
    let_go: float = option(0.01, "times that iterates are held in the next restoration")
    violated: float = option(1e-4, "violation from which on a point where the restoration gets stuck is infeasible")
    largest_of_bounds: float = option(1e3, "largest multiplier of bounds after a restoration")

    # ---- Newton steps
    delta_c: float = option(
        1e-9, "subtracted from the diagonal of rows that depend on each other; else nothing, over many blocks less "
        "with the square of their number",
        "multipliers move by no more than the violation over it in one step, and those of a limit that leaves no room "
        "are to fall as mu does; over many blocks its effect adds up, and the objective is scaled up beside it")
    dependent: float = option(1e-12, "eigenvalue of J J^T, slacks included, below which rows depend on each other")
    first_regularisation: float = option(1e-8, "first regularisation of the Hessian")
    growth_at_first: float = option(100.0, "factor by which it grows as long as none was needed before")
    growth: float = option(8.0, "factor by which it grows else")
    shrinkage: float = option(3.0, "by which it falls from step to step")
    smallest_regularisation: float = option(1e-8, "smallest one")
    largest_regularisation: float = option(1e20, "largest one")
    wide: float = option(
        1000.0, "range between bounds of a variable, such as a torque in Nm, beyond which the Hessian is regularised "
        "in shares of it", "what is little beside curvatures of others is much beside those, and steps creep along a "
        "curvature downwards")
    largest_multiplier: float = option(1e3, "largest estimated multiplier of rows; else they start from zero")
    precise: float = option(1e-11, "residual of a step, relative to what it is to take away where that is large, that "
                                   "needs no refinement")
    loose: float = option(1e-8, "added to the diagonal of loose variables, so that no block is singular by them")

    # ---- saddle points
    flat: float = option(1e-5, "curvature downwards, in scaled variables, that is none",
                         "pushes from there lead far, to no better minimum")
    push_length: float = option(0.5, "length of a push away from a saddle point, of the range",
                                "shorter ones lead to worse minima")
    patience: int = option(
        25, "iterations of a restoration at one mu after which a saddle point of the violation is suspected that steps "
        "creep along")
    push_iterations: int = option(100, "iterations of the way after a push")
