"""The compiled loop of `audit`."""

from ..kernels.loops import compiled


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def largest_squares(z, places, out):
    """Largest squared lengths of ranges of components of states, first and last `places` (n_ranges, 2), along motions
    (n_motions, n, n_z): to `out`, shape (n_motions, n_ranges)."""
    for m in range(z.shape[0]):
        for r in range(places.shape[0]):
            for k in range(z.shape[1]):
                square = 0.0
                for i in range(places[r, 0], places[r, 1]):
                    square += z[m, k, i] ** 2
                out[m, r] = max(out[m, r], square)
