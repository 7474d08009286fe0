"""Solutions and inertia of the matrix of a step, against dense ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from timefem.parallel import OverRanks
from timefem.solvers.interior_point.kkt import KktMatrix

N_BLOCKS, N, M, ENTRIES = 4, 6, 3, 3  # variables and rows of a block; entries of a row


def scaled(rng, limited, rooms):
    """What `KktMatrix` asks of a scaled program: rows of three entries, one of them in the block before."""
    n, m = N_BLOCKS * N, N_BLOCKS * M
    first, second = (x.ravel() for x in np.meshgrid(np.arange(N), np.arange(N), indexing="ij"))
    upper = first <= second
    hessian = tuple(np.concatenate([x[upper] + N * e for e in range(N_BLOCKS)]) for x in (first, second))
    columns = np.concatenate([[*rng.choice(N, ENTRIES - 1, replace=False) + N * (row // M),
                               max(0, row // M - 1) * N + N - 1 if row >= M else N - 1] for row in range(m)])
    columns[:M * ENTRIES] = np.concatenate([rng.choice(N, ENTRIES, replace=False) for _ in range(M)])
    program = SimpleNamespace(hessian_places=hessian, jacobian_places=(np.repeat(np.arange(m), ENTRIES), columns),
                              variable_blocks=np.repeat(np.arange(N_BLOCKS), N), loose=(), comm=None, joined=None,
                              row_blocks=np.repeat(np.arange(N_BLOCKS), M), reserve=lambda n: rooms.append(n))
    return SimpleNamespace(program=program, n=n, m=m, over=OverRanks(None),
                           slacks=SimpleNamespace(row=np.flatnonzero(np.arange(m) % M < limited)))


@pytest.mark.parametrize("limited", [0, 2, 3])
@pytest.mark.parametrize("least", [-6, -16])
def test_solution_and_inertia_are_those_of_the_dense_matrix(limited, least):
    """With E from 1e-16 on, as at limits that are reached: sums `H + J^T E^-1 J` keep few digits of H."""
    rng = np.random.default_rng(limited)
    given = scaled(rng, limited, rooms := [])
    matrix, n, m = KktMatrix(given), given.n, given.m
    hessian, jacobian = (rng.standard_normal(len(places[0])) for places in (given.program.hessian_places,
                                                                            given.program.jacobian_places))
    diagonal, of_rows = rng.uniform(-3, 5, n), np.zeros(m)
    of_rows[given.slacks.row] = -10.0**rng.uniform(least, least + 7, N_BLOCKS * limited)
    dense = np.zeros((n + m,) * 2)
    dense[given.program.hessian_places] = hessian
    dense[n + given.program.jacobian_places[0], given.program.jacobian_places[1]] = jacobian
    dense += dense.T
    dense[np.arange(n), np.arange(n)] /= 2
    dense[np.arange(n + m), np.arange(n + m)] += np.concatenate([diagonal, of_rows])
    assert matrix.factor(hessian, jacobian, diagonal, of_rows)
    assert matrix.excess == np.sum(np.linalg.eigvalsh(dense) < 0) - m
    expected = rng.standard_normal(n + m)
    b = dense @ expected
    solution = np.concatenate(matrix.solve(b[:n], b[n:]))
    np.testing.assert_allclose(solution, expected, rtol=1e-7, atol=1e-9)
    joined = np.concatenate([hessian, jacobian, np.empty(*rooms)])  # in one array, with the room asked for
    ends = np.cumsum([len(hessian), len(jacobian)])
    assert matrix.factor(*np.split(joined, ends)[:2], diagonal, of_rows)
    np.testing.assert_array_equal(np.concatenate(matrix.solve(b[:n], b[n:])), solution)
    np.testing.assert_array_equal(joined[:ends[1]], np.concatenate([hessian, jacobian]))
