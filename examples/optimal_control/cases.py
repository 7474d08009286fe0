"""What the gallery of optimal control is made of: problems of others, with the value that they have there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import timefem as tf
from timefem.mechanics.values.rollout import rollout

CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Case:
    """A problem, the element and the number of elements that it takes, its least cost and where that is from."""

    make: Callable[[], tf.OptimalControl]
    value: float
    source: str
    n: int
    element: Any
    within: float
    starts: int
    finer: int

    def solved(self, refine: bool = False) -> tf.Solution:
        """The solution from a cold start, or the best one of several; refined on `finer` times the elements."""
        problem = self.make()
        if self.starts > 1:
            sol = tf.solve_all(problem, self.element, self.n, n_starts=self.starts, progress=False)[0]
        else:
            sol = tf.solve(problem, self.element, self.n, progress=False)
        if refine:
            sol = tf.solve(problem, tf.MixedGalerkin(self.element.degree + 1), self.finer * self.n, guess=sol,
                           progress=False)
        return sol


def case(
    value: float, source: str, n: int = 40, degree: int = 2, within: float = 1e-4, starts: int = 1,
    finer: int = 2
) -> Callable[[Any], Any]:
    """Enter a function that makes a problem among the cases; `within`: relative difference of its cost from `value`;
    `finer`: times the elements, of the next degree, by which it is 1e-6: more where controls jump within elements."""

    def enter(make: Callable[[], tf.OptimalControl]) -> Callable[[], tf.OptimalControl]:
        CASES[make.__name__] = Case(make, value, source, n, tf.MixedGalerkin(degree), within, starts, finer)
        return make

    return enter


def of_states(
    rate: Callable[..., Any],
    start: Sequence[float | None],
    end: Sequence[float | None],
    t_span: tuple[float, float],
    inputs: Sequence[tuple[float | None, float | None]],
    cost: Any = (),
    **further: Any,
) -> tf.OptimalControl:
    """A problem of states of first order alone, `x' = rate(x, u)`; None in `start`, `end` and bounds is free."""
    control, n = tf.Control(len(inputs), name="u"), len(start)
    state = tf.State("x", lambda x, f, t, c, u: rate(x, u), n=n, controls=[control])
    lower, upper = zip(*inputs, strict=True)
    more = further.pop("bounds", {})
    given: Any = tf.EndState(q=list(start)) if None in start else list(start)
    return tf.OptimalControl(
        tf.System([state, control]),
        {state: given},
        {state: tf.EndState(q=list(end))},
        t_span,
        cost,
        bounds={control: (list(lower), list(upper)), **more},
        **further,
    )


def replayed(sol: tf.Solution, steps: int = 4) -> np.ndarray:
    """The state at the end of a march of the controls alone, by Runge and Kutta's method, element by element."""
    system, basis = sol.system, sol.element.trial["controls"].basis
    z = np.array(sol.z[0])
    for e, (t0, t1) in enumerate(zip(sol.t[:-1], sol.t[1:], strict=True)):
        nodal = sol.fields["controls"][e]

        def law(t: float, q: Any, v: Any, nodal: Any = nodal, t0: float = t0, t1: float = t1) -> Any:
            return basis.values(np.array([(t - t0) / (t1 - t0)]))[0] @ nodal

        z = rollout(system, z, np.array([t0, t1]), law, steps).states[-1]
    return z
