"""Checkpoints: solved elements and the current Newton iterate in an HDF5 file that is complete at any moment.

Each rank writes its elements in turn into a temporary file beside the checkpoint, which then takes its place. A killed
run leaves the checkpoint before; a restart reads the elements that each rank then needs, on any number of ranks.
"""

import dataclasses
import json
import os
import re
import signal
import threading
import time
import warnings
from pathlib import Path

import h5py
import numpy as np

from ... import validate
from ...errors import InputError
from ...mechanics.describe import describe, plain

FORMAT, VERSION = "timefem checkpoint", 1
EVERY = "60s"
ROWS = 65536  # elements copied at once


def parse_every(every):
    """When to write: (seconds, steps), one of them None; from "60s", "5it" or a number of iterations."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|it)\s*", every) if isinstance(every, str) else None
    if isinstance(every, str) and not found:
        raise InputError(f"checkpoint_every must be like '60s' or '5it', or a number of iterations, not {every!r}")
    if found and found[2] == "s":
        return validate.real("checkpoint_every", found[1], positive=True), None
    if found and "." in found[1]:
        raise InputError(f"checkpoint_every must be a whole number of iterations, not {every!r}")
    return None, validate.integer("checkpoint_every", int(found[1]) if found else every, minimum=1)


class Identity:
    """What a checkpoint belongs to: system, element, mesh, initial state, driver, window and scaling.

    Parameters
    ----------
    plan : ElementPlan
    mesh : TimeMesh
    z0 : ndarray
    settings : dict
        Further words and numbers that must be the same: driver, window, scaling.

    Attributes
    ----------
    facts, arrays : dict
        Plain data by name, and ndarrays by name.
    node, n_local : int
        Dofs of a node and of an element.
    """

    def __init__(self, plan, mesh, z0, settings):
        element = {f.name: getattr(plan.element, f.name) for f in dataclasses.fields(plan.element)}
        name = type(plan.element).__name__
        self.facts = {"element": {"class": name, **{key: plain(key, value) for key, value in element.items()}},
                      **settings}
        try:
            self.facts["system"] = describe(plan.system)
        except InputError:  # parts given by formulas
            self.facts["system"] = None
        self.node, self.n_local = plan.columns.n_node, plan.columns.n_local
        self.arrays = {"t": mesh.nodes, "z0": z0, "fingerprint": _fingerprint(plan.system, mesh.nodes[0], z0)}


def _fingerprint(system, t, z0):
    """Forces and constraint gradients near the initial state: numbers that tell systems apart that have no words."""
    z = z0 + 0.01 * (1 + np.abs(z0)) * np.random.default_rng(0).uniform(-1, 1, len(z0))
    gradient, jacobian, _ = system.derivatives(t, z)
    return np.concatenate([gradient, np.asarray(jacobian.sum(axis=1)).ravel()])


class Recorder:
    """Writes checkpoints of one solve, every so many steps or seconds and on SIGTERM.

    Parameters
    ----------
    path : str or Path
        In a folder that exists; of all ranks alike.
    every : str or int
        See `parse_every`.
    identity : Identity
    comm : mpi4py communicator or None
    """

    def __init__(self, path, every, identity, comm=None):
        self.path, self.identity, self.comm = Path(os.path.realpath(path)), identity, comm
        self.seconds, self.steps = parse_every(every)
        self._last, self._steps, self._terminated, self._before = time.monotonic(), 0, False, None
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, *_):
        self._terminated = True

    def close(self):
        """Give SIGTERM back to whoever had it."""
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
            self._before = None

    def within(self, most):
        """Steps that may be taken before the next visit, at most so many."""
        return min(most, self.steps or most)

    def visit(self, steps, what):
        """Write if it is time to; called on all ranks after each step.

        Parameters
        ----------
        steps : int
            Steps since the last visit: Newton iterations, or elements of a march.
        what : callable
            Gives the arguments of `write`.

        Returns
        -------
        bool
            Whether to stop, because SIGTERM came.
        """
        self._steps += steps
        due = self._steps >= self.steps if self.steps else time.monotonic() - self._last >= self.seconds
        stop = self._terminated
        if self.comm is not None:
            everyone = self.comm.allgather((due, stop))
            due, stop = everyone[0][0], any(s for _, s in everyone)
        if due or stop:
            self.write(*what())
            self._last, self._steps = time.monotonic(), 0
        return stop

    def write(self, n_solved, n_stored, parts, window=None):
        """Write a checkpoint.

        Parameters
        ----------
        n_solved : int
            Elements 0, ..., n_solved - 1 are solved.
        n_stored : int
            Elements n_solved, ..., n_stored - 1 hold the current iterate.
        parts : list of (int, ndarray)
            First element and dofs of the chains of elements that this rank has.
        window : int, optional
            Elements of the next window.
        """
        n_ranks, rank = (self.comm.size, self.comm.rank) if self.comm is not None else (1, 0)
        temporary, error = self.path.with_name(f".{self.path.name}.part"), None
        for turn in range(n_ranks):
            if turn == rank:
                try:
                    self._write_own(temporary, turn == 0, n_solved, n_stored, parts, window)
                    if turn == n_ranks - 1:
                        with open(temporary, "rb") as file:
                            os.fsync(file)  # the rename must not reach the disk before the data
                        os.replace(temporary, self.path)
                except OSError as failure:  # for instance a full disk
                    error = str(failure)
            if self.comm is not None:
                error = self.comm.bcast(error, turn)
            if error:
                if not rank:
                    warnings.warn(f"the checkpoint {self.path} could not be written: {error}", stacklevel=2)
                return

    def _write_own(self, path, create, n_solved, n_stored, parts, window):
        node, n_local = self.identity.node, self.identity.n_local
        with h5py.File(path, "w" if create else "r+") as file:
            if create:
                file.attrs.update(format=FORMAT, format_version=VERSION, n_solved=n_solved, window=window or 0)
                for name, fact in self.identity.facts.items():
                    file[f"facts/{name}"] = json.dumps(fact)
                for name, array in self.identity.arrays.items():
                    file[name] = array
                file.create_dataset("dofs", (n_stored, n_local), float)
            for first, x in parts:
                step = n_local - node
                n = (len(x) - node) // step
                blocks = np.lib.stride_tricks.as_strided(x, (n, n_local), (x.itemsize * step, x.itemsize))
                for e in range(0, n, ROWS):
                    file["dofs"][first + e:first + min(e + ROWS, n)] = blocks[e:e + ROWS]


class Checkpoint:
    """A checkpoint file.

    Attributes
    ----------
    facts, arrays : dict
        Of its `Identity`.
    n_solved, n_stored, window : int
        See `Recorder.write`.

    Raises
    ------
    InputError
        When there is no such file, or it is no checkpoint.
    """

    def __init__(self, path):
        self.path = path
        try:
            with h5py.File(path, "r") as file:
                if file.attrs.get("format") != FORMAT:
                    raise InputError(f"{path} is not a timefem checkpoint")
                if file.attrs["format_version"] != VERSION:
                    raise InputError(f"{path} has format version {file.attrs['format_version']}; this timefem reads "
                                     f"version {VERSION}")
                self.facts = {name: json.loads(text[()]) for name, text in file["facts"].items()}
                self.arrays = {name: file[name][()] for name in ("t", "z0", "fingerprint")}
                self.n_solved, self.window = int(file.attrs["n_solved"]), int(file.attrs["window"])
                self.n_stored, self.n_local = file["dofs"].shape
        except FileNotFoundError:
            raise InputError(f"there is no file {path}") from None
        except (OSError, KeyError, RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} cannot be read as a timefem checkpoint: {error}") from None

    def blocks(self, start, stop):
        """Dofs [left node | interior | right node] of elements start, ..., stop - 1, shape (n, n_local)."""
        with h5py.File(self.path, "r") as file:
            return file["dofs"][start:stop]

    def dofs(self, start, stop, n_node):
        """All dofs of the elements start, ..., stop - 1, where they join."""
        step = self.n_local - n_node
        x = np.empty(n_node + (stop - start) * step)
        for e in range(start, stop, ROWS):
            blocks = self.blocks(e, min(e + ROWS, stop))
            if e == start:
                x[:n_node] = blocks[0, :n_node]
            x[n_node + (e - start) * step:n_node + (e - start + len(blocks)) * step] = blocks[:, n_node:].ravel()
        return x

    def check(self, identity):
        """Raise InputError, naming what differs, when the checkpoint does not belong to this solve."""
        for name in ("driver", "window", "scaling", "element", "system"):
            difference = _difference(self.facts.get(name), identity.facts.get(name))
            if difference:
                raise InputError(f"{self.path} belongs to another solve: {name} {difference}")
        names = {"t": "mesh", "z0": "initial state", "fingerprint": "system"}
        for name, value in identity.arrays.items():
            saved = self.arrays[name]
            if saved.shape != value.shape:
                what = (f"has {len(saved) - 1} elements there, {len(value) - 1} here" if name == "t" else
                        "has another size")
                raise InputError(f"{self.path} belongs to another solve: the {names[name]} {what}")
            if not np.allclose(saved, value, rtol=1e-12, atol=1e-12 * np.abs(value).max(initial=0.0)):
                worst = int(np.argmax(np.abs(saved - value)))
                raise InputError(f"{self.path} belongs to another solve: the {names[name]} differs "
                                 f"({saved[worst]:.6g} there, {value[worst]:.6g} here, number {worst})")


def _difference(there, here, path=""):
    """In words, the first difference of two pieces of plain data; empty when there is none."""
    if isinstance(there, dict) and isinstance(here, dict):
        keys = list(dict.fromkeys([*there, *here]))
        name = f" '{here['name']}'" if isinstance(here.get("name"), str) else ""
        pairs = [(there.get(k), here.get(k), f"{path}{name} {k}") for k in keys]
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = [(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(there, here, strict=True))]
    elif there == here:
        return ""
    else:
        def brief(value):
            return f"{len(value)} entries" if isinstance(value, list | dict) else repr(value)

        return f"differs{path and ' in'}{path} ({brief(there)} there, {brief(here)} here)"
    return next(filter(None, (_difference(*pair) for pair in pairs)), "")
