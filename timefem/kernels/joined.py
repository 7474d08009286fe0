"""Entries of several arrays as if they were one."""

from .loops import compiled


@compiled(interpreted=True, error_model="numpy", _nrt=False)
def take_joined(places, a, b, c, d, out):
    """`np.concatenate([a, b, c, d]).take(places, out=out)`, in a fifth of the time for short ones."""
    for i in range(len(places)):
        place, first, second, third = places[i], len(a), len(a) + len(b), len(a) + len(b) + len(c)
        if place < first:
            out[i] = a[place]
        elif place < second:
            out[i] = b[place - first]
        elif place < third:
            out[i] = c[place - second]
        else:
            out[i] = d[place - third]
