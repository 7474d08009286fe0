"""Elements x systems x numbers of ranks by substructuring: the motions of one process, and messages that stay small."""

import pytest

from tests.parallel import launch, rank_matrix


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    folder = tmp_path_factory.mktemp("some")
    rank_matrix.references(folder, False)
    return folder


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    folder = tmp_path_factory.mktemp("all")
    rank_matrix.references(folder, True)
    return folder


def compare(n_ranks, *arguments):
    run = launch.mpirun(n_ranks, "-m", "tests.parallel.rank_matrix", "compare", *arguments, time_limit=1800)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("passed\n")


@pytest.mark.mpi
@pytest.mark.parametrize("n_ranks", [1, 4])
def test_some(n_ranks, some):
    compare(n_ranks, some)


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("n_ranks", [1, 2, 4, 8, 16])
def test_all(n_ranks, every):
    compare(n_ranks, every, "all")


@pytest.mark.mpi
@pytest.mark.slow
def test_64_ranks(some):
    compare(64, some)
