"""Walking of a five-link chain: two steps in a cycle, with the impact of the foot between them.

The chain, its energies, and the impact stand in `timefem/cases/walking.py`; `timefem run walking` solves it as well.
"""

import timefem as tf
from timefem.cases import find_case


def main(n_elements=12, method=None):
    """Walk two steps in a cycle, with the least integral of the squared torques.

    Returns
    -------
    dict
        "solution" (PhasedSolution) and "objective" [(N m)^2 s].
    """
    solution = tf.solve(find_case("walking").make(), tf.MixedGalerkin(2, n_points=2), n_elements, method=method,
                        progress=False)
    return {"solution": solution, "objective": solution.objective}


if __name__ == "__main__":
    found = main()["solution"]
    print(found.status.message, found.objective, found.statistics["newton_iterations"]["max"])
