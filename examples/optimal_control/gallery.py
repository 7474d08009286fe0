"""Problems of the galleries of others: cost beside theirs, iterations, time, and where a march of the controls ends.

    python examples/optimal_control/gallery.py [NAME ...]
"""

from __future__ import annotations

import sys
import time

import mechanisms  # noqa: F401  enters its cases, as do the others
import numpy as np
import points  # noqa: F401
import rockets  # noqa: F401
import states  # noqa: F401
from cases import CASES, replayed


def main(names: list[str]) -> None:
    print(f"{'case':24}{'cost':>14}{'of others':>14}{'difference':>12}{'iterations':>12}{'s':>7}{'replayed':>11}",
          " source")
    for name in names or CASES:
        case, begun = CASES[name], time.perf_counter()
        sol = case.solved()
        took = time.perf_counter() - begun
        off = np.abs(replayed(sol) - sol.z[-1]).max() / np.abs(sol.z).max()
        print(f"{name:24}{sol.objective:14.7g}{case.value:14.7g}{abs(sol.objective / case.value - 1):12.1e}"
              f"{sol.statistics['newton_iterations']['max']:12}{took:7.2f}{off:11.1e}  {case.source}")


if __name__ == "__main__":
    main(sys.argv[1:])
