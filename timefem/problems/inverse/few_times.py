"""Times at which guesses of inverse dynamics are made."""

import numpy as np

from .options import OPTIONS


def few_times(mesh):
    """Ends of the elements and their middles, of a coarser mesh where there are very many."""
    n = min(mesh.n_elements, OPTIONS.guess_elements)
    nodes = np.interp(np.linspace(0, 1, n + 1), np.linspace(0, 1, len(mesh.nodes)), mesh.nodes)
    return np.sort(np.concatenate([nodes, (nodes[1:] + nodes[:-1]) / 2]))
