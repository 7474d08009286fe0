"""Reads what it is told to, one path per line, and answers each with what came of it: refused, read, or a fault.

Arguments: the kind ("model", "solution" or "checkpoint") and the file that is not damaged.
"""

import faulthandler
import io
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np

import timefem as tf
from timefem.cli import main

PATIENCE = 20  # seconds


def model(path, _):
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        status = main(["check", path])
    return {0: "read", 1: "refused", 2: "refused"}[status], ""


def solution(path, whole):
    found = tf.load(path)
    found.summary()
    same = all(np.array_equal(getattr(found, n), getattr(whole, n)) for n in ("t", "z", "nodal_state"))
    multipliers = np.array_equal(found.nodal_multipliers, whole.nodal_multipliers)
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
    whole = None if kind == "model" else tf.load(original)
    print("ready", flush=True)
    for line in sys.stdin:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)  # also ends code that does not return
        result, text = answer(kind, line.rstrip("\n"), whole)
        faulthandler.cancel_dump_traceback_later()
        print(result, " ".join(text.split())[:200].encode("ascii", "replace").decode(), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])
