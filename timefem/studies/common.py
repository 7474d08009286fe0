"""What studies share: their input, runs in processes, kept on disk, and tables."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import math
import os
import re
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TextIO

from rich.table import Table

from timefem import (
    InitialValueProblem,
    InputError,
    March,
    Pose,
    RigidBody,
    SolveError,
    System,
    TimeElement,
    describe,
    solve,
)

from .. import validate
from ..atomic_write import write_text
from ..errors import named_arguments, warn
from ..progress import progress


def initial_value_problem(problem):
    """The problem of a case, or a problem of initial values as it is."""
    problem = problem.make() if hasattr(problem, "make") else problem
    if not isinstance(problem, InitialValueProblem):
        raise InputError(f"problem must be an InitialValueProblem or a Case, not {problem!r}")
    return problem


def solve_on(problem, element, n_elements=None, *, driver=None, **arguments):
    """`timefem.solve` on the mesh that is asked for: a march does not halve elements, which would be another mesh."""
    if (driver is None and element.can_march) or driver == "march":
        driver = March(keep_mesh=True)
    elif isinstance(driver, March):
        driver = dataclasses.replace(driver, keep_mesh=True)
    return solve(problem, element, n_elements, driver=driver, **arguments)


def element_list(elements):
    """One element or several, as a list without repetitions."""
    elements = [elements] if isinstance(elements, TimeElement) else elements
    if not isinstance(elements, list | tuple) or not elements:
        raise InputError(f"elements must be a time element, or a list of them, not {elements!r}")
    for element in elements:
        if not isinstance(element, TimeElement):
            raise InputError(f"element must be a time element such as MixedGalerkin(degree=2), not {element!r}")
    return list(dict.fromkeys(elements))


def element_label(element):
    """Short name of a method, such as mG(2), BG(3, continuous) or EML, for tables and figures."""
    short = {"mg": "mG", "bg": "BG"}.get(element.name)
    if short is None:
        return type(element).__name__
    facts = [str(element.degree)]
    usual = dataclasses.replace(element, n_points=None).n_points
    facts += [] if element.n_points == usual else [f"{element.n_points} points"]
    facts += [value for name, usual in (("multipliers", "discontinuous"), ("drop", "start"), ("nodes", "equidistant"),
                                        ("form", "hamilton"))
              if (value := vars(element).get(name, usual)) != usual]
    facts += ["keeps all"] if element.lifted else []
    return f"{short}({', '.join(facts)})"


# ---- A body in units of its own

@named_arguments
def unit_body(rotation: str = "quaternion", inverse_mass: str = "polynomial",
              t_end: float = 5.0) -> InitialValueProblem:
    """A free body of unit mass and inertia that turns at about 1 rad/s: every number in the tangent is O(1).

    Slopes of condition numbers show on coarse meshes here, while a body in SI units hides some behind its inertia.
    """
    body = RigidBody(1, [1, 1, 1], rotation, inverse_mass, name="body")
    return InitialValueProblem(System([body]), {body: Pose(angular_velocity=(0, 0.7, 0.7))}, (0, t_end))


# ---- results of studies as tables and as comma-separated values

def _rows(studies, form="rows"):
    studies = studies if isinstance(studies, list | tuple) else [studies]
    rows = [row for study in studies for row in getattr(study, form)()]
    if not rows:
        raise InputError("there is nothing to write: no study has rows")
    return rows


def table(studies: Any, title: str | None = None) -> Any:
    """A table for the terminal, of one study or of several of a kind.

    Parameters
    ----------
    studies : Convergence, Conservation, or a list of them
    title : str, optional

    Returns
    -------
    rich.formula.Table
        Columns that are empty or the same everywhere are left out, the latter named in the title.
    """
    rows = _rows(studies, "cells")
    shown = [name for name in rows[0] if any(_text(row[name]) for row in rows)]
    same = [name for name in shown if len(rows) > 1 and len({_text(row[name]) for row in rows}) == 1
            and isinstance(rows[0][name], str | int)]
    facts = [f"{_words(name)} {rows[0][name]}" for name in same]
    out = Table(title=": ".join(filter(None, (title, ", ".join(facts)))) or None, title_justify="left")
    columns = [name for name in shown if name not in same]
    for name in columns:
        out.add_column(_words(name), justify="left" if isinstance(rows[0][name], str) else "right")
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and before.get("method") != row.get("method"):
            out.add_section()
        out.add_row(*(_text(row[name]) for name in columns))
    return out


def write_csv(studies: Any, file: TextIO) -> None:
    """Comma-separated values of one study or of several of a kind, to an open file."""
    rows = _rows(studies)
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _words(name):
    return name.replace("_", " ")


def _text(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3g}"
    return str(value)


# ---- run the cases of a study in parallel processes, and keep what they found on disk

class Cache:
    """Results as JSON files in a folder, `<folder>/<name>-<digits>.json`, each with the key that it answers.

    Parameters
    ----------
    folder : str or Path, or None
        None: nothing is kept.

    Raises
    ------
    InputError
        When the folder cannot be made or written.
    """

    def __init__(self, folder=None):
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot use the folder {folder} as cache: {error.strerror or error}") from None
        if not os.access(self.folder, os.W_OK):
            raise InputError(f"cannot use the folder {folder} as cache: no permission to write there")

    def _file(self, name, key):
        digits = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:10]
        parts = [re.sub(r"[^\w.+=,()-]+", "_", part) for part in name.split("/")]
        return self.folder.joinpath(*parts[:-1], f"{parts[-1]}-{digits}.json")

    def get(self, name, key):
        """The result that was kept for this key, or None; a damaged file counts as none."""
        if self.folder is None:
            return None
        try:
            kept = json.loads(self._file(name, key).read_bytes())
            return kept["result"] if kept["key"] == json.loads(json.dumps(key)) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, name, key, result):
        """Keep a result; the file is complete at any moment."""
        if self.folder is None:
            return
        file = self._file(name, key)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps({"key": key, "result": result}))
        except OSError as error:  # a full disk: what is not kept is worked out anew
            warn(f"a result of the study is not kept: {error}")


def run_jobs(jobs, *, processes=1, cache=None, title="study", show=None):
    """Run jobs, each of them once, and take from the cache what is there.

    Parameters
    ----------
    jobs : list of (str, dict, callable, tuple)
        Name (a path in the cache), key (plain data on which the result depends), function and its arguments. The
        function returns plain data. With more than one process, function and arguments must be picklable.
    processes : int
        1: in this process.
    cache : Cache, optional
    title : str
        Of the progress bar.
    show : bool, optional
        Progress bar; default: when standard error is a terminal.

    Returns
    -------
    list
        Results in the order of the jobs. Each is kept as soon as it is there, so that a study that was stopped, or
        failed in one job, goes on from there.
    """
    cache = cache or Cache()
    processes = validate.integer("processes", processes, minimum=1)
    results = [cache.get(name, key) for name, key, _, _ in jobs]
    waiting = [i for i, result in enumerate(results) if result is None]
    with progress(title, len(jobs), show) as bar:
        bar.advance(len(jobs) - len(waiting))
        for i, result in _computed(jobs, waiting, min(processes, len(waiting))):
            results[i] = result
            cache.put(*jobs[i][:2], result)
            bar.advance(1)
            bar.note(jobs[i][0])
    return results


def _computed(jobs, waiting, processes):
    """Yield (index, result) as they come."""
    if processes <= 1:
        for i in waiting:
            yield i, jobs[i][2](*jobs[i][3])
        return
    with ProcessPoolExecutor(processes) as pool:
        futures = {pool.submit(jobs[i][2], *jobs[i][3]): i for i in waiting}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise SolveError("a process of the study ended early, perhaps for lack of memory; take fewer "
                             "processes") from None
        finally:
            pool.shutdown(cancel_futures=True)


def problem_key(problem, name=None):
    """Plain data that tells a problem from others; `name` stands for the system where it cannot be described."""
    try:
        system = describe(problem.system)
    except InputError as error:
        if name is None:
            raise InputError(f"a cache needs to tell systems apart, but {error}; give name=, which stands for this "
                             "system") from None
        system = name
    return {"system": system, "z0": problem.z0.tolist(), "t_span": list(problem.t_span)}
