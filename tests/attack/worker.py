"""Reads files, one path per line, and answers each with what came of it: refused, read, or a fault.

Arguments: the kind ("model", "solution" or "checkpoint") and the file that is not damaged.
"""

import faulthandler
import io
import os
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numba  # noqa: F401  its import reads what the processor is: before what is opened is looked at
import numpy as np

import timefem as tf
from timefem.cli import main

PATIENCE = 20  # seconds
CODE = tuple(os.path.realpath(path) for path in (*filter(os.path.isdir, sys.path), sys.prefix, sys.base_prefix,
                                                 os.environ.get("TIMEFEM_CACHE_DIR", os.path.expanduser("~/.cache"))))
OPENED = []  # paths
sys.addaudithook(lambda event, arguments: OPENED.append(arguments[0]) if event == "open" and isinstance(
    arguments[0], str) else None)


def model(path, _):
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        status = main(["check", path])
    return {0: "read", 1: "refused", 2: "refused"}[status], ""


def robot(path, _):
    """A robot, its system and its start; whatever is opened must lie in the folder of the file, or be code."""
    folder = os.path.realpath(os.path.dirname(path))
    OPENED.clear()
    found = (tf.read_urdf if path.endswith(".urdf") else tf.read_mjcf)(path, meshes=folder)
    outside = [name for name in map(os.path.realpath, OPENED) if not name.startswith((folder + os.sep, *CODE))]
    if outside:
        return "OUTSIDE", outside[0]
    found.problem()
    return "read", ""


def solution(path, whole):
    found = tf.load(path)
    found.summary()
    same = all(np.array_equal(getattr(found, n), getattr(whole, n)) for n in ("t", "z"))
    same = same and np.array_equal(found.nodal.state, whole.nodal.state)
    multipliers = np.array_equal(found.nodal.multipliers, whole.nodal.multipliers)
    return ("read" if same and multipliers else "WRONG"), ""


def checkpoint(path, whole):
    found = tf.restart(path, progress=False)
    if not found.success:
        return "refused", found.status.reason
    same = found.z.shape == whole.z.shape and np.abs(found.z - whole.z).max() < 1e-7 * np.abs(whole.z).max()
    return ("read" if same else "WRONG"), ""


def answer(kind, path, whole):
    try:
        return globals()[kind](path, whole)
    except tf.InputError as error:
        return "refused", str(error)
    except BaseException as error:  # what a user would see as a traceback
        return "TRACEBACK", f"{type(error).__name__}: {error}"


def serve(kind, original):
    warnings.simplefilter("ignore")
    whole = None if kind in ("model", "robot") else tf.load(original)
    print("ready", flush=True)
    for line in sys.stdin:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)  # also ends code that does not return
        result, text = answer(kind, line.rstrip("\n"), whole)
        faulthandler.cancel_dump_traceback_later()
        print(result, " ".join(text.split())[:200].encode("ascii", "replace").decode(), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
