"""Before a distributed solve: do all ranks have the same task, and are all of them there? Thresholds of solves."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import types
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..memory import Late
from ..parallel import gathered_world
from ..records import frozen
from ..validate.options import Options, documented, option


@documented
@frozen
class SolvingOptions(Options):
    """Thresholds of solves that are shared, repeated and compared."""

    # ---- agreement
    close: float = option(
        1e-12, "difference of numbers of two ranks, relative; they may run on different machines, which round "
        "differently")
    most_numbers: int = option(100_000, "numbers of an array that are reported in full; of larger ones the checksum")

    # ---- many runs
    runs_together: int = option(8, "runs that a process takes at once")

    # ---- runs
    runs_of_a_thread: int = option(32, "runs that a thread takes at once")


OPTIONS = SolvingOptions()


identity = Late("timefem.problems.initial.checkpoint")


def agree_on(task):
    """Compare a `Task` whose work the ranks are to share on all of them.

    Raises
    ------
    InputError
        On all ranks alike, naming the first difference.
    RankError
        When a rank has ended.
    """
    comm = gathered_world() if task.driver.distributed else None
    if comm is None:
        return
    guess = task.guess if isinstance(task.guess, str) else None
    facts = plain_facts(dataclasses.replace(task, guess=guess, progress=None))
    # loads by formulas have no words, but numbers
    facts["forces"] = plain_facts(task.near_the_start(identity.fingerprint))
    digests = comm.allgather(hashlib.blake2b(json.dumps(facts, sort_keys=True).encode()).digest())
    if len(set(digests)) == 1:
        return
    found = comm.allgather(difference(comm.bcast(facts), facts))
    for rank, text in enumerate(found):
        if text:
            raise InputError("the ranks have different problems: " + text.format("rank 0", f"rank {rank}"))


def plain_facts(value, known=()):
    """Texts, numbers, lists and dicts that an object consists of; what is code or made from others is left out."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, int | float | np.number):
        return float(value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            return None
        large = value.size > OPTIONS.most_numbers
        return hashlib.blake2b(np.ascontiguousarray(value)).hexdigest() if large else value.astype(float).tolist()
    if id(value) in known:
        return None
    known = (*known, id(value))
    if isinstance(value, dict):
        return {str(key): plain_facts(v, known) for key, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain_facts(v, known) for v in value]
    if isinstance(value, types.FunctionType | types.MethodType | type):
        return value.__name__
    if not type(value).__module__.startswith("timefem."):
        return type(value).__name__
    names = ([f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else
             [name for name in getattr(value, "__dict__", {}) if not name.startswith("_")])
    cached = {name for c in type(value).__mro__ for name, v in vars(c).items() if hasattr(v, "func")}
    return {"class": type(value).__name__,
            **{name: plain_facts(getattr(value, name), known) for name in names if name not in cached}}


def difference(there, here, path=""):
    """In words, the first difference of two plain facts, with {} for the names of the two sides; empty for none."""
    pairs = []
    if isinstance(there, dict) and isinstance(here, dict):
        name = f" '{here['name']}'" if isinstance(here.get("name"), str) and path else ""
        pairs = [(there[k], here[k], f"{path}{name}{'.' * bool(path)}{k}") for k in there if k in here]
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = [(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(there, here, strict=True))]
    elif isinstance(there, list) and isinstance(here, list):
        return f"{path} has {len(there)} entries on {{}} and {len(here)} on {{}}"
    elif isinstance(there, float) and isinstance(here, float):
        if there != here and not abs(there - here) <= OPTIONS.close * max(abs(there), abs(here)):
            return f"{path} is {there:.12g} on {{}} and {here:.12g} on {{}}"
    elif there != here:
        return f"{path} is {_brief(there)} on {{}} and {_brief(here)} on {{}}"
    return next(filter(None, (difference(*pair) for pair in pairs)), "")


def _brief(value):
    return f"{value!r:.60}".replace("{", "(").replace("}", ")")
