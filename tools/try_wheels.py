"""Installs wheels in empty environments, and tells how long it takes to the first number.

python tools/try_wheels.py dist [--python PYTHON ...] [--kinds pure,platform] [--versions newest,oldest] [-o TABLE.md]

For each Python, kind of wheel and choice of versions: a virtual environment, `pip install`, a first script in an empty
cache without network, the same again, the command, and a saved file. "oldest" are the least versions that setup.cfg
allows and that are there as wheels for that Python (`uv pip compile`). Any failure ends with status 1.
"""

import argparse
import configparser
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = "numpy", "scipy", "casadi", "numba", "h5py"
RIGHT = 0.8768334338  # first entry of the rotation matrix, by elements of order 4: good to 8 digits
FIRST = f"""
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise OSError("there is no network")

sys.addaudithook(refuse)
import timefem as tf

box = tf.RigidBody(mass=12, inertia=[5, 26, 29], rotation="quaternion", name="box")
problem = tf.InitialValueProblem(tf.System([box]), state={{box: tf.Pose(angular_velocity=[0, 5, 1])}}, t_span=(0, 5))
sol = tf.solve(problem, tf.MixedGalerkin(degree=2), n_elements=200)
sol.save("box.h5")
number = tf.load("box.h5").rotation_matrix("box", 5.0)[0, 0]
assert abs(number - {RIGHT}) < 1e-8, number
print(number, "compiled" if "numba" in sys.modules else "loaded")
"""
FACTS = """
import importlib.metadata as m, json, platform, sys
print(json.dumps({"python": platform.python_version(), "system": platform.platform(terse=True)}
                 | {d.metadata["Name"].lower(): d.version for d in m.distributions()}))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path, help="folder of the wheels")
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--kinds", default="pure,platform")
    parser.add_argument("--versions", default="newest")
    parser.add_argument("-o", "--output", type=Path, help="a table in Markdown, to which rows are added")
    given = parser.parse_args()
    rows, failed = [], 0
    for python in given.python:
        for kind in given.kinds.split(","):
            for versions in given.versions.split(","):
                try:
                    rows.append(try_one(given.dist, python, kind, versions))
                except (subprocess.CalledProcessError, LookupError) as error:
                    failed += 1
                    print(f"{python}, {kind}, {versions}: FAILED: {error}\n{getattr(error, 'stderr', '')}", flush=True)
    if given.output and rows:
        write(given.output, rows)
    return int(failed > 0)


def try_one(dist, python, kind, versions):
    """Facts of one installation; prints its transcript."""
    tag = said(python, "-c", "import sys; print('cp%d%d' % sys.version_info[:2])")
    wheels = list(dist.glob("*-py3-none-any.whl" if kind == "pure" else f"*-{tag}-{tag}-*.whl"))
    if len(wheels) != 1:
        raise LookupError(f"{len(wheels)} wheels of this kind for {tag} in {dist}")
    with tempfile.TemporaryDirectory(prefix="try_wheels_") as place:
        own = Path(place, "bin" if os.name == "posix" else "Scripts", "python")
        subprocess.run([python, "-m", "venv", place], check=True)
        limits = oldest(python, Path(place)) if versions == "oldest" else []
        install, _ = timed(own, "-m", "pip", "install", "-q", "--disable-pip-version-check", *limits, wheels[0])
        site = Path(said(own, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
        size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
        facts = json.loads(said(own, "-c", FACTS))
        script = Path(place, "first.py")
        script.write_text(FIRST, encoding="utf-8")
        environment = {"TIMEFEM_CACHE_DIR": str(Path(place, "cache"))}
        first, number = timed(own, script, cwd=place, **environment)
        again, number_again = timed(own, script, cwd=place, **environment)
        assert number.split()[0] == number_again.split()[0], (number, number_again)
        run = said(own, "-m", "timefem", "run", "spinning-box", "--json", cwd=place, **environment)
        assert json.loads(run)["status"] == "converged"
    facts |= {"wheel": kind, "versions": versions, "MB": round(size / 1e6), "install": install, "first": first,
              "again": again, "number": number}
    print(f"{facts['system']}, Python {facts['python']}, {wheels[0].name}, {versions} versions: "
          f"{', '.join(f'{name} {facts[name]}' for name in SHOWN)}\n"
          f"    pip install {told(install)}, {facts['MB']} MB; first number {told(first)}: {number}; "
          f"again {told(again)}: {number_again}", flush=True)
    return facts


def oldest(python, place):
    """Arguments of pip for the least versions of what setup.cfg names."""
    declared = configparser.ConfigParser()
    declared.read(ROOT / "setup.cfg", encoding="utf-8")
    asked, answer = place / "asked.txt", place / "oldest.txt"
    asked.write_text(declared["options"]["install_requires"], encoding="utf-8")
    if importlib.util.find_spec("uv") is None:
        raise LookupError("the oldest versions are found by uv: python -m pip install uv")
    said(sys.executable, "-m", "uv", "pip", "compile", "-q", "--resolution", "lowest-direct", "--only-binary", ":all:",
         "--python", python, asked, "-o", answer)
    return ["-c", answer]


def said(*command, cwd=None, **environment):
    own = os.environ | {"PYTHONPATH": ""} | environment
    run = subprocess.run(list(map(str, command)), env=own, check=True, cwd=cwd, text=True, capture_output=True)
    return run.stdout.strip()


def timed(*command, **options):
    """Seconds by the clock, those of the processor (None where nobody counts them), and what was printed."""
    before, begin = children(), time.perf_counter()
    text = said(*command, **options)
    after, seconds = children(), time.perf_counter() - begin
    return (seconds, None if before is None else after - before), text


def children():
    """Seconds of the processor that ended processes took."""
    times = os.times()
    return times.children_user + times.children_system if os.name == "posix" else None


def told(seconds):
    clock, processor = seconds
    return f"{clock:.1f} s" + (f" ({processor:.1f} s of the processor)" if processor is not None else "")


def write(path, rows):
    """Add rows to a table."""
    head = ("| Python | system | wheel | " + " | ".join(SHOWN) + " | MB | `pip install` | first number | again |\n"
            "|" + "---|" * (len(SHOWN) + 7) + "\n")
    text = path.read_text(encoding="utf-8") if path.exists() else head
    for facts in rows:
        cells = [facts["python"], re.sub(r"-with.*", "", facts["system"]), facts["wheel"],
                 *(facts[name] for name in (*SHOWN, "MB")), *(told(facts[k]) for k in ("install", "first", "again"))]
        text += "| " + " | ".join(map(str, cells)) + " |\n"
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
