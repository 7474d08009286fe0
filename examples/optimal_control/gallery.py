"""Problems of the galleries of others: cost beside theirs, iterations, time, and where a march of the controls ends.

    python examples/optimal_control/gallery.py [--ipopt] [--refined] [NAME ...]

With `--ipopt` also the processor time of the independent transcription in CasADi, solved by IPOPT, where there is one;
with `--refined` the difference of the cost on more elements of the next degree (`finer` of the case).
"""

from __future__ import annotations

import argparse
import time

import machines  # noqa: F401  enters its cases, as do the others
import mechanisms  # noqa: F401
import numpy as np
import points  # noqa: F401
import rockets  # noqa: F401
import states  # noqa: F401
import transcribed_machines
import transcribed_vehicles
import transcriptions
import vehicles  # noqa: F401
from cases import CASES, Case, replayed


def of_ipopt(name: str) -> float:
    """Processor time of the transcription [s]; NaN without one."""
    for module in (transcriptions, transcribed_machines, transcribed_vehicles):
        if hasattr(module, name):
            begun = time.process_time()
            getattr(module, name)()
            return time.process_time() - begun
    return np.nan


def refined(case: Case) -> float:
    """Relative difference of the cost from that of others on finer meshes, of the next degree."""
    sol = case.solved(refine=True)
    if not sol.success:
        return np.nan
    return abs(sol.objective / case.value - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--ipopt", action="store_true", help="time the transcriptions, too")
    parser.add_argument("--refined", action="store_true", help="solve on finer meshes, too")
    given = parser.parse_args()
    print(
        f"{'case':30}{'cost':>14}{'of others':>14}{'difference':>12}{'refined':>9}{'iterations':>12}{'s':>7}"
        f"{'IPOPT':>7}{'replayed':>11}  source"
    )
    for name in given.names or CASES:
        case, begun = CASES[name], time.process_time()
        sol = case.solved()
        took = time.process_time() - begun
        off = np.abs(replayed(sol) - sol.z[-1]).max() / np.abs(sol.z).max()
        finer = refined(case) if given.refined else np.nan
        print(
            f"{name:30}{sol.objective:14.7g}{case.value:14.7g}{abs(sol.objective / case.value - 1):12.1e}"
            f"{finer:9.1e}{sol.statistics['newton_iterations']['max']:12}{took:7.2f}"
            f"{of_ipopt(name) if given.ipopt else np.nan:7.2f}{off:11.1e}  {case.source}",
            flush=True,
        )


if __name__ == "__main__":
    main()
