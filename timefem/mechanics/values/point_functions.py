"""Values of parts at given states, evaluated by CasADi's VM: for initial states and post-processing."""

import threading

import numpy as np

PIECE = 256  # points that are evaluated at once
MOST_BUFFERS = 500  # kept by a thread


def evaluate(function, z, t, c):
    """Evaluate `function(z, t, c)` for all parts of a group at many points.

    Shapes (n, n_parts, n_local), (n,), (n_parts, n_c) -> (n, n_parts, n_out).
    """
    n, n_parts, n_local = z.shape
    n_out = function.size1_out(0)
    if n == 0 or n_out == 0:
        return np.zeros((n, n_parts, n_out))
    # through buffers and in pieces: CasADi's own matrices and long maps take ten times as long as the evaluation
    arguments = [np.ascontiguousarray(x, dtype=float)
                 for x in (z.reshape(n * n_parts, n_local), t if n_parts == 1 else np.repeat(t, n_parts),
                           c if n == 1 else np.tile(c, (n, 1)))]
    out = np.zeros((n * n_parts, n_out))
    for start in range(0, len(out), PIECE):
        stop = min(start + PIECE, len(out))
        buffer, run, _ = _buffer(function, stop - start)
        for i, x in enumerate(arguments):
            if x.size:
                buffer.set_arg(i, memoryview(x[start:stop]))
        buffer.set_res(0, memoryview(out[start:stop]))
        run()
    return out.reshape(n, n_parts, n_out)


def _buffer(function, size):
    """The buffer of a function at so many points, and what evaluates it; of this thread, as it cannot serve two."""
    buffers = _kept.__dict__.setdefault("buffers", {})
    key = function.__hash__(), size  # that of the address
    if key not in buffers:
        if len(buffers) == MOST_BUFFERS:
            buffers.clear()
        buffers[key] = *(function.map(size) if size > 1 else function).buffer(), function
    return buffers[key]


_kept = threading.local()
