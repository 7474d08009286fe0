"""What tells whether a checkpoint belongs to a solve."""

import dataclasses

import numpy as np

from ...errors import InputError
from ...mechanics.describe import describe, plain
from .options import OPTIONS


class Identity:
    """What a checkpoint belongs to: system, element, mesh, initial state, driver, window and scaling.

    Parameters
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    z0 : ndarray
    settings : dict
        Further words and numbers that must be the same: driver, window, scaling.

    Attributes
    ----------
    facts, arrays : dict
        Plain data by name, and ndarrays by name.
    node, n_local : int
        Dofs of a node and of an element.
    """

    def __init__(self, plan, mesh, z0, settings):
        element = {f.name: getattr(plan.element, f.name) for f in dataclasses.fields(plan.element)}
        name = type(plan.element).__name__
        self.facts = {"element": {"class": name, **{key: plain(key, value) for key, value in element.items()}},
                      "n_elements": mesh.n_elements, **settings}
        try:
            self.facts["system"] = describe(plan.system)
        except InputError:  # parts given by formulas
            self.facts["system"] = None
        self.node, self.n_local = plan.columns.n_node, plan.columns.n_local
        self.arrays = {"t": mesh.nodes, "z0": z0, "fingerprint": fingerprint(plan.system, mesh.nodes[[0, -1]], z0)}
        self.system, self.end = plan.system, plan.columns.first[-1]

    def take(self, mesh):
        """Go on with another mesh: a march has halved an element."""
        self.arrays["t"], self.facts["n_elements"] = mesh.nodes, mesh.n_elements

    def states(self, rows, blocks):
        """System, times and states at the ends of elements, from their dofs."""
        return self.system, self.arrays["t"][1:][rows], blocks[:, self.end]


def fingerprint(system, t_span, z0):
    """Forces and constraint gradients near a state, at several times: numbers that tell systems apart without words."""
    z = z0 + 0.01 * (1 + np.abs(z0)) * np.random.default_rng(0).uniform(-1, 1, len(z0))
    numbers = []
    for t in np.linspace(*t_span, OPTIONS.fingerprint_times):
        gradient, jacobian, _ = system.derivatives(t, z)
        numbers += [gradient, np.asarray(jacobian.sum(axis=1)).ravel()]
    return np.concatenate(numbers)
