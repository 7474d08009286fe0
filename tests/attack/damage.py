"""Damage to files, as disks, transfers and editors do it; seeded."""

import copy
import shutil
import xml.etree.ElementTree as ElementTree

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


VALUES = ("", "nan", "inf", "1e999", "-1", "0", "1e-300", "x", "1 2", "0 0 0", "1 2 3 4 5 6 7", "true", "base", "mesh",
          "/etc/passwd", "../outside.xml", "../outside.stl", "file:///etc/passwd", "package://../../etc/passwd",
          "é" * 300, "free", "fixed", "ball", "floating", "-3 0 1e30")
INSERTED = ('<include file="../outside.xml"/>', '<include file="/etc/passwd"/>', '<include file="a.xml"/>',
            '<visual><geometry><mesh filename="../outside.stl"/></geometry></visual>', '<geom type="mesh" mesh="out"/>',
            '<asset><mesh name="out" file="../outside.stl"/></asset>', '<compiler meshdir="/etc"/>', "<joint/>",
            "<link/>", '<body><freejoint/></body>', '<mimic joint="nowhere"/>',
            '<equality><connect body1="a" anchor="0 0 0"/></equality>')


def mutate(data, rng):
    """A robot's file with one to three other elements or attributes: changed, lost, twice, renamed, moved, inserted."""
    root = ElementTree.fromstring(data)
    for _ in range(rng.integers(1, 4)):
        every = list(root.iter())
        element, other = (every[rng.integers(len(every))] for _ in range(2))
        names, kind = list(element.attrib), rng.integers(7)
        name = names[rng.integers(len(names))] if names else "name"
        if kind == 0:
            element.set(name, VALUES[rng.integers(len(VALUES))])
        elif kind == 1:
            element.attrib.pop(name, None)
        elif kind == 2 and len(element):
            element.remove(element[rng.integers(len(element))])
        elif kind == 3 and len(element):
            element.append(copy.deepcopy(element[rng.integers(len(element))]))
        elif kind == 4:
            element.tag = every[rng.integers(len(every))].tag
        elif kind == 5 and len(element) and element not in other.iter() and other not in element.iter():
            child = element[rng.integers(len(element))]
            element.remove(child)
            other.append(child)
        else:
            element.insert(0, ElementTree.fromstring(INSERTED[rng.integers(len(INSERTED))]))
    return ElementTree.tostring(root)


def spoil_sealed(source, path, rng):
    """A copy of an HDF5 file with one dataset or attribute spoilt, and the checksum rebuilt.

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
