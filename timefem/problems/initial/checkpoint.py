"""Checkpoints: solved elements and the current Newton iterate in an HDF5 file that is complete at any moment.

Each rank writes its elements in turn into a temporary file beside the checkpoint, which then takes its place. A killed
run leaves the checkpoint before; a restart reads the elements that each rank then needs, on any number of ranks.
"""

import dataclasses
import json
import re
import time
from contextlib import ExitStack, contextmanager

import numpy as np

from ... import interrupts, validate
from ...assembly import TimeMesh
from ...atomic_write import real_path
from ...errors import InputError, warn
from ...mechanics.bodies.states import CanonicalState
from ...mechanics.describe import build, describe, plain
from ...memory import Late
from ...solution.output import hdf5
from ...solution.output.hdf5 import write_in_turn
from ...solution.output.save import audit, build_element, check_audit
from .problem import OPTIONS, InitialValueProblem

nonsmooth = Late("timefem.solvers.nonsmooth.states")
h5py = Late("h5py")  # most solves read and write no file

FORMAT, VERSION = "timefem checkpoint", 2  # 2: sealed with a checksum, with an audit of the states
CHECKED = {"chunks": True, "fletcher32": True}


def parse_every(every):
    """When to write: (seconds, steps), one of them None; from "60s", "5it" or a number of iterations."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|it)\s*", every) if isinstance(every, str) else None
    if isinstance(every, str) and not found:
        raise InputError(f"checkpoint_every must be like '60s' or '5it', or a number of iterations, not {every!r}")
    if found and found[2] == "s":
        return validate.real("checkpoint_every", float(found[1]), positive=True), None
    if found and "." in found[1]:
        raise InputError(f"checkpoint_every must be a whole number of iterations, not {every!r}")
    return None, validate.integer("checkpoint_every", int(found[1]) if found else every, minimum=1)


class Recorder:
    """Writes checkpoints of one solve, every so many steps or seconds and on SIGINT and SIGTERM.

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
        self.path, self.identity, self.comm = real_path(path), identity, comm
        self.seconds, self.steps = parse_every(every)
        self._last, self._steps, self._signals = time.monotonic(), 0, ExitStack()
        self._signals.enter_context(interrupts.stoppable())

    def close(self):
        """Give the signals back to whoever had them."""
        self._signals.close()

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
            Whether to stop, because SIGINT or SIGTERM came to a rank.
        """
        self._steps += steps
        due = self._steps >= self.steps if self.steps else time.monotonic() - self._last >= self.seconds
        stop = interrupts.asked() is not None
        if self.comm is not None:
            everyone = self.comm.allgather((due, stop))
            due, stop = everyone[0][0], any(s for _, s in everyone)
        if stop:
            interrupts.answer()
        if due or stop:
            self.write(*what())
            self._last, self._steps = time.monotonic(), 0
        return stop

    def write(self, n_solved, n_stored, parts, window=None, further=None):
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
        further : callable, optional
            Writes what else there is into the file.
        """
        def write(file, rank):
            if rank == 0:
                self._create(file, n_solved, n_stored, window)
                if further is not None:
                    further(file)
            for first, x in parts:
                self._fill(file, first, x)

        try:
            write_in_turn(self.path, write, self.comm)
        except OSError as error:  # for instance a full disk, which must not end the solve
            if self.comm is None or not self.comm.rank:
                reason = str(error).removeprefix(f"could not write {self.path}: ")
                warn(f"the checkpoint {self.path} could not be written: {reason}")

    def _create(self, file, n_solved, n_stored, window):
        """Everything but the dofs."""
        file.attrs.update(format=FORMAT, format_version=VERSION, n_solved=n_solved, window=window or 0,
                          facts=json.dumps(self.identity.facts))
        for name, array in self.identity.arrays.items():
            file.create_dataset(name, data=array, **CHECKED)
        file.create_dataset("dofs", (n_stored, self.identity.n_local), float, **CHECKED)
        file.create_dataset("audit", (n_stored, 2), float, **CHECKED)

    def _fill(self, file, first, x):
        """The dofs of a chain of elements, and the energy and constraint residuals at their ends."""
        node, n_local = self.identity.node, self.identity.n_local
        step = n_local - node
        n = (len(x) - node) // step
        blocks = np.lib.stride_tricks.as_strided(x, (n, n_local), (x.itemsize * step, x.itemsize))
        for e in range(0, n, OPTIONS.copied_at_once):
            rows = slice(first + e, first + min(e + OPTIONS.copied_at_once, n))
            file["dofs"][rows] = blocks[e:e + OPTIONS.copied_at_once]
            file["audit"][rows] = audit(*self.identity.states(rows, blocks[e:e + OPTIONS.copied_at_once]))


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
        When there is no such file, or it is not a checkpoint.
    """

    def __init__(self, path):
        self.path = path
        with self.opened() as file:
            self.facts = json.loads(hdf5.attribute(file, "facts", str))
            if not isinstance(self.facts, dict):
                raise InputError("its facts are not a table")
            self.arrays = {name: hdf5.numbers(file, name, (None,)) for name in ("t", "z0", "fingerprint")}
            self.n_solved, self.window = (int(hdf5.attribute(file, n, np.integer)) for n in ("n_solved", "window"))
            self.n_stored, self.n_local = hdf5.dataset(file, "dofs", (None, None)).shape
            hdf5.dataset(file, "audit", (self.n_stored, 2))
            n = len(self.arrays["t"]) - 1
            if self.facts.get("n_elements") != n:  # a shorter mesh would give the motion over a shorter time
                raise InputError(f"it says that its mesh has {self.facts.get('n_elements')!r} elements, and holds {n}")
            if not 0 <= self.n_solved <= self.n_stored <= n:
                raise InputError(f"it says that {self.n_solved} elements are solved, holds {self.n_stored}, and its "
                                 f"mesh has {n}")
            if self.window < 0:
                raise InputError(f"its window of {self.window} elements is too small")

    def opened(self):
        """Context with the h5py file, in which whatever is not as it should be is an InputError."""
        return hdf5.reading(self.path, FORMAT, VERSION)

    @contextmanager
    def understood(self):
        """Context in which whatever goes wrong with the facts is an InputError."""
        try:
            yield
        except hdf5.DAMAGE as error:
            raise InputError(f"{self.path} cannot be read as a {FORMAT}: {error!r:.200}") from None

    def restored(self):
        """Problem, element, mesh and further arguments of `solve`."""
        facts, t, z0 = self.facts, self.arrays["t"], self.arrays["z0"]
        if facts.get("system") is None:
            raise InputError(f"{self.path}: the system has parts that no file can hold; rebuild the problem and call "
                             f"solve(..., restart={str(self.path)!r})")
        with self.understood():
            system, element = build(facts["system"]), build_element(facts["element"])
        if len(z0) != system.n_z:
            raise InputError(f"{self.path}: z0 has {len(z0)} numbers, but the system needs {system.n_z}")
        q, p = np.split(z0, 2)
        parts = {body: system.coordinates(body) for body in system.bodies}
        state = {body: CanonicalState(q[part], p[part]) for body, part in parts.items()}
        settings = {name: facts[name] for name in ("driver", "window", "scaling") if name in facts}
        return InitialValueProblem(system, state, (t[0], t[-1])), element, TimeMesh(t), settings

    def blocks(self, start, stop):
        """Dofs [left node | interior | right node] of elements start, ..., stop - 1, shape (n, n_local)."""
        with h5py.File(self.path, "r") as file:
            return file["dofs"][start:stop]

    def dofs(self, start, stop, n_node):
        """All dofs of the elements start, ..., stop - 1, where they join."""
        step = self.n_local - n_node
        x = np.empty(n_node + (stop - start) * step)
        for e in range(start, stop, OPTIONS.copied_at_once):
            blocks = self.blocks(e, min(e + OPTIONS.copied_at_once, stop))
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
        if self.n_local != identity.n_local:
            raise InputError(f"{self.path} cannot be read as a {FORMAT}: it has {self.n_local} unknowns per element, "
                             f"and the problem {identity.n_local}")
        self._check_states(identity)

    def _check_states(self, identity):
        """All stored dofs are finite, and the solved states have the energy that was saved with them."""
        with self.opened() as file:
            for e in range(0, self.n_stored, OPTIONS.copied_at_once):
                rows = slice(e, min(e + OPTIONS.copied_at_once, self.n_stored))
                blocks, saved = file["dofs"][rows], file["audit"][rows]
                solved = max(0, min(self.n_solved, rows.stop) - e)
                if not np.all(np.isfinite(blocks)):
                    raise InputError("dofs is not finite")
                system, t, z = identity.states(rows, blocks)
                check_audit("a solved state", saved[:solved], system, t[:solved], z[:solved])


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
                      "n_elements": mesh.n_elements, **settings}
        try:
            self.facts["system"] = describe(plan.system)
        except InputError:  # parts given by formulas
            self.facts["system"] = None
        self.node, self.n_local = plan.columns.n_node, plan.columns.n_local
        self.arrays = {"t": mesh.nodes, "z0": z0, "fingerprint": fingerprint(plan.system, mesh.nodes[[0, -1]], z0)}
        self.system, self.end = plan.system, plan.columns.first[-1]

    def take(self, mesh):
        """Go on with another mesh: a march has halved an element."""
        self.arrays["t"], self.facts["n_elements"] = mesh.nodes, mesh.n_elements

    def states(self, rows, blocks):
        """System, times and states at the ends of elements, from their dofs."""
        return self.system, self.arrays["t"][1:][rows], blocks[:, self.end]


def fingerprint(system, t_span, z0):
    """Forces and constraint gradients near a state, at several times: numbers that tell systems apart without words."""
    z = z0 + 0.01 * (1 + np.abs(z0)) * np.random.default_rng(0).uniform(-1, 1, len(z0))
    numbers = []
    for t in np.linspace(*t_span, OPTIONS.fingerprint_times):
        gradient, jacobian, _ = system.derivatives(t, z)
        numbers += [gradient, np.asarray(jacobian.sum(axis=1)).ravel()]
        if system.rigid_contacts:
            contacts = nonsmooth.contacts_of(system).at_state(t, z)
            numbers += [contacts.gap[0], contacts.restitution[0], contacts.friction[0]]
    return np.concatenate(numbers)
