"""CasADi functions called through buffers."""

import numpy as np


class Buffered:
    """A CasADi function of dense arguments and results, evaluated in memory of its own.

    CasADi's matrices take ten times as long as a small function.

    Parameters
    ----------
    function : casadi.Function
    """

    def __init__(self, function):
        self.function = function
        self._buffer, self._run = function.buffer()
        self._arguments = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
        self._results = [np.zeros(function.nnz_out(i)) for i in range(function.n_out())]
        for place, arrays in ((self._buffer.set_arg, self._arguments), (self._buffer.set_res, self._results)):
            for i, array in enumerate(arrays):
                if array.size:
                    place(i, memoryview(array))

    def __reduce__(self):
        return Buffered, (self.function,)  # with memory of its own

    def __call__(self, *arguments):
        """Results, flat and column by column, which the next call overwrites; arguments alike."""
        for own, given in zip(self._arguments, arguments, strict=True):
            own[:] = given.ravel()
        self._run()
        return self._results
