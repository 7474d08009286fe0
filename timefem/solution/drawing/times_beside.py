"""Where the times of snapshots stand."""

import numpy as np
import scipy

ASIDE, OWN, OTHERS = 0.05, 0.035, 0.05  # of a name: from its snapshot, at least, and from others and their names
AROUND = np.stack([np.cos(np.arange(12) * np.pi / 6), np.sin(np.arange(12) * np.pi / 6)], axis=1)
MOST = 100  # points of a snapshot beside which a name may stand


def places_of_names(outlines, inside, view, beside):
    """Place of the time of each snapshot, list of arrays (3,); None where there is no room.

    Of snapshots side by side in a row below; of others where no other snapshot is near, that is `inside`, points all
    over each of them, arrays (n, 3).
    """
    page = view.camera[:2]
    everything = np.concatenate(outlines)
    extent = np.ptp(everything @ page.T, axis=0).max() or 1.0
    if beside:
        low = (everything @ page[1]).min() - 0.015 * extent
        return [x.mean(axis=0) + (low - x.mean(axis=0) @ page[1]) * page[1] for x in outlines]
    flat, found, taken = [x @ page.T / extent for x in inside], [], np.zeros((0, 2))
    for n, x in enumerate(outlines):
        near = np.linspace(0, len(x) - 1, min(len(x), MOST)).astype(int)
        steps = ASIDE * np.tile(AROUND, (len(near), 1))
        places = np.repeat(x[near] @ page.T / extent, len(AROUND), axis=0) + steps
        others = np.concatenate([*flat[:n], *flat[n + 1:], taken])
        room = scipy.spatial.cKDTree(others).query(places)[0]
        room[scipy.spatial.cKDTree(flat[n]).query(places)[0] < OWN] = -1.0  # upon its own snapshot
        best = int(np.argmax(room))
        if room[best] < OTHERS:
            found.append(None)
            continue
        taken = np.concatenate([taken, places[best:best + 1] + [[-0.03, 0], [0, 0], [0.03, 0]]])  # names are wide
        found.append(np.repeat(x[near], len(AROUND), axis=0)[best] + extent * steps[best] @ page)
    return found


def name_time(ax, t, place, below):
    """Write a time at its place, or below it."""
    ax.text(*place, f"{t:.4g} s", ha="center", va="top" if below else "center", fontsize="small", zorder=10,
            bbox=dict(boxstyle="round,pad=0.1", facecolor="white", edgecolor="none", alpha=0.7))
