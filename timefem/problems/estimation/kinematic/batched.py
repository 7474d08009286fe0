"""Formulas of a frame, with their Jacobians, evaluated for many frames at once."""

import casadi as ca
import numpy as np

from ....kernels.cache import cached_kernel
from ....kernels.compile import default_backend
from ....mechanics.values.point_functions import evaluate
from .options import DEFAULT


class Batched:
    """Formulas of one vector of numbers for each frame.

    Parameters
    ----------
    inputs : list of SX
    outputs : list of SX
        Columns and matrices, of which only what is not zero is evaluated.
    """

    def __init__(self, inputs, outputs):
        outputs = [ca.SX(x) for x in outputs]
        self._places, first = [], 0
        for x in outputs:  # of each entry among those that are evaluated, the last of which is zero
            rows, columns = (np.array(places, int) for places in x.sparsity().get_triplet())
            place = np.full(x.shape, -1)
            place[rows, columns] = first + np.arange(len(rows))
            first += len(rows)
            whole = np.array_equal(place.ravel(), np.arange(first - x.numel(), first))
            self._places.append(slice(first - x.numel(), first) if whole else place.ravel())
        self._shapes = [x.shape for x in outputs]
        self._n_values = first
        values = ca.vertcat(*(ca.vec(ca.SX(x.nz[:])) for x in outputs), ca.SX.zeros(1))
        x = ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.SX(i)) for i in inputs))
        self.n_in = x.numel()
        self._packed = ca.Function("values", [x], [ca.densify(values)])
        self._plain = ca.Function("values", [x, ca.SX.sym("t", 0), ca.SX.sym("c", 0)], [ca.densify(values)])
        self._kernel, self._work = None, 0

    def __call__(self, *inputs):
        """Values of frames, inputs of shape (n, ...) -> list of arrays (n, rows, columns)."""
        x = np.concatenate([np.reshape(i, (len(inputs[0]), -1)) for i in inputs], axis=1)
        values = self._values(np.ascontiguousarray(x))
        return [(values[:, place] if isinstance(place, slice) else values.take(place, axis=1)).reshape(len(x), *shape)
                for place, shape in zip(self._places, self._shapes, strict=True)]

    def _values(self, x):
        if not self._n_values:
            return np.zeros((len(x), 1))
        self._work += len(x) * self._packed.n_instructions()
        short = self._packed.n_instructions() < DEFAULT.longest
        if self._kernel is None and short and default_backend() == "llvm" and self._work > DEFAULT.pays:
            self._kernel = cached_kernel(("frames", self._packed.serialize()), lambda: self._packed)
        if self._kernel is not None:
            return self._kernel(x, lanes=len(x) > 1)
        return evaluate(self._plain, x[:, None], np.zeros((len(x), 0)), np.zeros((1, 0)))[:, 0]
