"""SuperLU, from SciPy."""

import scipy

from ...errors import SingularMatrix
from .base import LinearSolver


class Solver(LinearSolver):
    """Columns in time order, which is a good order already."""

    name = "superlu"

    def _factor(self, matrix):
        try:
            self.lu = scipy.sparse.linalg.splu(matrix.tocsc(), permc_spec="NATURAL")
        except RuntimeError as error:
            raise SingularMatrix(f"backend 'superlu': {error}") from error

    def solve(self, b):
        return self.lu.solve(b)
