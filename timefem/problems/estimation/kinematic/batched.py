"""Formulas of a frame, with their Jacobians, evaluated for many frames at once."""

import casadi as ca
import numpy as np

from ....kernels.cache import cached_kernel
from ....kernels.compile import default_backend
from ....mechanics.point_functions import evaluate
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
        self._patterns = []
        for x in outputs:
            rows, columns = (np.array(places, int) for places in x.sparsity().get_triplet())
            self._patterns.append((x.shape, rows, columns))
        self._stops = np.cumsum([0, *(x.nnz() for x in outputs)])
        values = ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.SX(x.nz[:])) for x in outputs))
        x = ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.SX(i)) for i in inputs))
        self.n_in = x.numel()
        self._packed = ca.Function("values", [x], [ca.densify(values)])
        self._plain = ca.Function("values", [x, ca.SX.sym("t", 0), ca.SX.sym("c", 0)], [ca.densify(values)])
        self._kernel = None

    def __call__(self, *inputs):
        """Values of frames, inputs of shape (n, ...) -> list of arrays (n, rows, columns)."""
        x = np.concatenate([np.reshape(i, (len(inputs[0]), -1)) for i in inputs], axis=1)
        values = self._values(np.ascontiguousarray(x))
        found = []
        for (shape, rows, columns), start, stop in zip(self._patterns, self._stops, self._stops[1:], strict=False):
            out = np.zeros((len(x), *shape))
            out[:, rows, columns] = values[:, start:stop]
            found.append(out)
        return found

    def _values(self, x):
        if not self._stops[-1]:
            return np.zeros((len(x), 0))
        work = len(x) * self._packed.n_instructions()
        if self._kernel is None and default_backend() == "llvm" and work > DEFAULT.pays:
            self._kernel = cached_kernel(("frames", self._packed.serialize()), lambda: self._packed)
        if self._kernel is not None:
            return self._kernel(x, lanes=len(x) > 1)
        return evaluate(self._plain, x[:, None], np.zeros((len(x), 0)), np.zeros((1, 0)))[:, 0]
