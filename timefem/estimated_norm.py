"""The 1-norm of a matrix that is known by its products alone."""

import numpy as np

from .late import Late

scipy = Late("scipy")


def estimated_norm(operator, **options):
    """`scipy.sparse.linalg.onenormest`, with the same random columns each time, so that studies can be repeated.

    Parameters
    ----------
    operator : LinearOperator
    **options
        As SciPy takes them.

    Returns
    -------
    float, or what `options` ask for besides
    """
    state = np.random.get_state()  # noqa: NPY002, which is what SciPy draws from
    np.random.seed(0)  # noqa: NPY002
    try:
        return scipy.sparse.linalg.onenormest(operator, **options)
    finally:
        np.random.set_state(state)  # noqa: NPY002
