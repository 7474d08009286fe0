"""Damage to files, as disks, transfers and editors do it; seeded."""

import shutil

import h5py
import numpy as np

from timefem.solution.output import hdf5


def spoil(data, rng):
    """Bytes with one kind of damage: bits, bytes, a block of zeros, a cut, a block twice, or two blocks exchanged."""
    data, n = bytearray(data), len(data)
    kind = rng.integers(7)
    a, b = sorted(rng.integers(0, n + 1, 2))
    if kind == 0:
        data[rng.integers(n)] ^= 1 << rng.integers(8)
    elif kind == 1:
        for at in rng.integers(0, n, 1 + rng.integers(20)):
            data[at] = rng.integers(256)
    elif kind == 2:
        data[a:b] = bytes(b - a)
    elif kind == 3:
        del data[a:]
    elif kind == 4:
        del data[a:b]
    elif kind == 5:
        data[a:a] = data[a:b]
    else:
        c, d = a // 2, (a + b) // 2
        data[c:c + 16], data[d:d + 16] = data[d:d + 16], data[c:c + 16]
    return bytes(data)


def spoil_sealed(source, path, rng):
    """A copy of an HDF5 file with one dataset or attribute spoilt, and the checksum made anew.

    Numbers stay numbers: who makes the checksum anew can forge them.
    """
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        names = [name for name in file if isinstance(file[name], h5py.Dataset)]
        kind, name = rng.integers(1, 6), names[rng.integers(len(names))]
        values = file[name][()]
        if kind == 1:  # one entry less, or another axis
            del file[name]
            file[name] = values[:-1] if values.ndim and len(values) else [1.0]
        elif kind == 2:
            del file[name]
        elif kind == 3:  # something else in its place
            del file[name]
            others = ["text", 1.0, h5py.Empty(float), np.full(values.shape, np.nan), np.zeros(values.shape, complex),
                      h5py.ExternalLink("other.h5", "/t"), h5py.SoftLink("/nowhere")]
            file[name] = others[rng.integers(len(others))]
        else:
            attributes = list(file.attrs)
            name = attributes[rng.integers(len(attributes))]
            value = file.attrs[name]
            if kind == 4 and isinstance(value, str) and value:
                at = int(rng.integers(len(value)))
                file.attrs[name] = value[:at] + "!#$&?~^`"[rng.integers(8)] + value[at + 1:]
            else:
                del file.attrs[name]
                others = [-1, 10**6, 1.5, "x", "[]", "{}", "null", h5py.Empty(float)]
                file.attrs[name] = others[rng.integers(len(others))]
    hdf5.seal(path)
