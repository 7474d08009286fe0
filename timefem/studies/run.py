"""Run the cases of a study in parallel processes, and keep what they found on disk."""

import hashlib
import json
import os
import re
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from timefem import InputError, SolveError, describe

from .. import validate
from ..atomic_write import write_text
from ..errors import warn
from ..progress import progress


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
