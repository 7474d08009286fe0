"""Compiled loops on disk: never needed, checked, and made by one process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import timefem
import timefem as tf
from tests.example_systems import pendulum
from timefem.kernels.machine import common_processor

CODE = """
from timefem.kernels.loops import compiled

@compiled()
def inner(n):
    return n * n

@compiled()
def outer(n):
    return inner(n) + 1

print(outer(3))
"""


INTERPRETED = """
import sys
import numpy as np
from timefem.kernels import loops
from timefem.kernels.loops import compiled

@compiled(interpreted=True)
def inner(x, i):
    return x[i] * x[i] / 3.0

@compiled(interpreted=True, error_model="numpy")
def total(x, by):
    value = 0.0
    for i in range(x.shape[0]):
        value += inner(x, i) / by
    return value

few, many = np.random.default_rng(0).normal(size=50), np.zeros(loops.LARGE + 1)
x = total(few, 0.3)
assert not total.codes and "numba" not in sys.modules, "compiled for few numbers"
has, loops.store().has = loops.store().has, lambda entry: 1 / 0
assert total(few, 0.3) == x, "looks on disk in each call"
loops.store().has = has
assert total(few, np.float64(0.0)) == np.inf
with loops.nothing_interpreted():
    assert total(few, 0.3) == x, "other bits"
assert total.codes
print(total(many, 1.0))
"""
LARGE = INTERPRETED.replace("x = total(few, 0.3)", "total(many, 1.0); print(total(few, 0.3)); raise SystemExit")


@pytest.fixture
def run(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(CODE)

    def run(cache=tmp_path / "cache"):
        return subprocess.Popen([sys.executable, str(script)], env=os.environ | {
            "TIMEFEM_CACHE_DIR": str(cache), "PYTHONPATH": str(Path(timefem.__file__).parents[1])},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)

    return run


def outcome(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err


def test_compiled_once(run):
    out, err = outcome(run())
    assert out == "10" and "timefem: compiling outer, once for this machine ..." in err and err.count("\n") == 1
    assert outcome(run()) == ("10", "")


@pytest.mark.long
def test_loaded_without_numba(run, tmp_path):
    (tmp_path / "script.py").write_text(CODE + "import sys; print('numba' in sys.modules)")
    assert outcome(run())[0] == "10\nTrue"
    assert outcome(run()) == ("10\nFalse", "")


@pytest.mark.long
def test_called_from_python_only_where_it_is(run, tmp_path):
    """What only other loops called gets the code for Python in the process that asks for it, and is not rebuilt."""
    (tmp_path / "script.py").write_text(CODE)
    outcome(run())
    (tmp_path / "script.py").write_text(CODE + "\nassert not inner.codes\nprint(inner(4))")
    assert outcome(run()) == ("10\n16", "")
    (tmp_path / "script.py").write_text(CODE.replace("print", 'print(inner(4))\nimport sys\nassert "numba" not in '
                                                     "sys.modules\nprint"))
    assert outcome(run()) == ("16\n10", "")


@pytest.mark.long
def test_arrays_from_what_only_loops_called(run, tmp_path):
    """Of arrays that it returns the code for Python counts references, also where another process compiled the rest."""
    code = "import numpy as np\n" + CODE.replace("n * n", "np.full(2, n)").replace("inner(n) +", "inner(n)[0] +")
    (tmp_path / "script.py").write_text(code)
    outcome(run())
    (tmp_path / "script.py").write_text(code + "print(inner(4))")
    assert outcome(run()) == ("4\n[4 4]", "")


@pytest.mark.long
def test_loaded_by_numba_where_another_process_compiled(run, tmp_path):
    """Of processes that start together one compiles; the others have compiled nothing when they load that."""
    (tmp_path / "script.py").write_text("""
import numpy as np
import timefem as tf

bead = tf.PointMass(1.0, dimension=1, name="bead")
system = tf.System([bead, tf.Spring(bead, None, stiffness=2.0)])
ends = [{bead: tf.EndState(position=(x, None, None))} for x in np.linspace(0.5, 2, 12)]
problem = tf.BoundaryValueProblem(system, (0, 1), {bead: tf.EndState(position=(0, None, None))}, ends[0])
print(tf.prepare(problem, tf.MixedGalerkin(2), 6).solve_many(ends=ends, n_workers=2).success.all())
""")
    assert outcome(run())[0] == "True"


@pytest.mark.long
def test_loaded_loops_are_linked(run, tmp_path):
    """A loop from disk called by one that is compiled: by its machine code, or by the code for the linker."""
    outcome(run())
    (tmp_path / "script.py").write_text(CODE + """
@compiled()
def further(n):
    return inner(n) + outer(n)

print(further(3))
""")
    out, err = outcome(run())
    assert out == "10\n19" and err.count("compiling") == 1 and "compiling further" in err
    assert outcome(run()) == (out, "")


LONG = """
from timefem.kernels.loops import compiled

@compiled()
def long(x):
""" + "".join(f"    if x > {k}:\n        x = x * 1.5 - {k}\n" for k in range(200)) + """    return x

@compiled()
def between(x):
    return long(x) + 1

@compiled()
def outer(x):
    return 2 * between(x)

print(outer(150.0))
"""


@pytest.mark.long
def test_long_loops_are_linked_to_what_calls_them(run, tmp_path):
    """Each is compiled once; a later process finds it, whether the loops between are there or not."""
    (tmp_path / "script.py").write_text(LONG)
    out, _ = outcome(run())
    assert outcome(run()) == (out, "")
    sizes = sorted(path.stat().st_size for path in (tmp_path / "cache").iterdir())
    assert sizes[-1] > 2 * sizes[-2], "the long loop stands in one entry"
    for path in (tmp_path / "cache").iterdir():
        if path.stat().st_size == sizes[-1]:
            path.unlink()
    again, err = outcome(run())
    assert again == out and err.count("compiling") == 1
    assert outcome(run()) == (out, "")


def test_damage_is_mended(run, tmp_path):
    outcome(run())
    for path in (tmp_path / "cache").iterdir():
        if not path.name.startswith("lock-"):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 4
            path.write_bytes(data)
    assert outcome(run())[0] == "10"
    assert outcome(run()) == ("10", "")


PREPARED = """
import os
import sys
from pathlib import Path
from timefem.kernels import loops, store
{change}
store.PREPARED = Path(__file__).with_name("prepared")
"""


@pytest.mark.long
def test_prepared_for_the_versions_at_hand(run, tmp_path):
    """Loops that came with the package are taken as they are, where nothing can be kept, too; others are compiled."""
    outcome(run())
    (tmp_path / "cache").rename(tmp_path / "prepared")
    before = {path: path.read_bytes() for path in (tmp_path / "prepared").iterdir()}

    def compiled(change, cache=tmp_path / "cache"):
        (tmp_path / "script.py").write_text(PREPARED.format(change=change) + CODE)
        out, err = outcome(run(cache))
        assert out == "10"
        return err.count("compiling")

    assert compiled("") == compiled("", "/dev/null/cache") == 0 and not (tmp_path / "cache").exists()
    for other in ("loops.compilers = lambda: '0.1'", "sys.implementation.cache_tag = 'cpython-3'",
                  "os.environ['NUMBA_CPU_NAME'] = 'generic'"):
        assert compiled(other) == 1
    assert {path: path.read_bytes() for path in (tmp_path / "prepared").iterdir()} == before


@pytest.mark.long
@pytest.mark.skipif(common_processor() is None, reason="this processor is less than the common ones")
def test_prepared_for_all_common_processors(run, tmp_path):
    """What is in wheels is called under any version of Numba, and linked to what is compiled by the same one."""
    further = """
@compiled()
def further(n):
    return inner(n) + outer(n)

print(further(3))
"""
    (tmp_path / "script.py").write_text("from timefem.kernels import loops; loops.for_common_processors()" + CODE)
    outcome(run())
    (tmp_path / "cache").rename(tmp_path / "prepared")

    def compiles(change, more=""):
        (tmp_path / "script.py").write_text(PREPARED.format(change=change) + CODE + more)
        out, err = outcome(run())
        assert out.split() == ["10", "19"][:1 + bool(more)]
        n_entries = len(list((tmp_path / "cache").glob("*")))
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        return n_entries if "compiling" in err else 0

    version = "from timefem.kernels.loading import compiling; compiling.compilers = loops.compilers = lambda: '0.1'"
    assert not compiles("") and not compiles(version)
    assert 0 < compiles("", further) < compiles(version, further)
    assert compiles("loops.common_processor = lambda: None") and compiles("sys.implementation.cache_tag = 'cpython-3'")


@pytest.mark.long
@pytest.mark.parametrize("cache", ["off", "/dev/null/cache"])
def test_nothing_has_to_be_writable(run, cache):
    out, err = outcome(run(cache))
    assert out == "10" and "Traceback" not in err


@pytest.mark.long
def test_one_of_several_processes_compiles(run):
    outcomes = [outcome(process) for process in [run() for _ in range(3)]]
    assert [out for out, _ in outcomes] == ["10"] * 3
    assert "".join(err for _, err in outcomes).count("compiling") == 1


def test_interpreted_where_little_is_to_be_done(run, tmp_path):
    (tmp_path / "script.py").write_text(INTERPRETED)
    out, err = outcome(run())
    assert out == "0.0" and err.count("compiling") == 1


@pytest.mark.long
def test_code_on_disk_is_not_interpreted(run, tmp_path):
    (tmp_path / "script.py").write_text(LARGE)
    out, err = outcome(run())
    assert "compiling total" in err  # many numbers
    code = LARGE.replace("total(many, 1.0); ", "").replace("raise", "assert total.codes; raise")
    (tmp_path / "script.py").write_text(code)
    assert outcome(run()) == (out, "")


# ---- everything runs on CasADi's virtual machine too, with the same numbers to rounding

@pytest.mark.parametrize("element, driver", [(tf.MixedGalerkin(2), "march"), (tf.BubnovGalerkin(2), "global")], ids=str)
def test_solves_on_the_virtual_machine(element, driver, monkeypatch):
    native = tf.solve(pendulum(t_end=0.5), element, 10, driver=driver)
    monkeypatch.setenv("TIMEFEM_KERNELS", "vm")
    slow = tf.solve(pendulum(t_end=0.5), element, 10, driver=driver)
    np.testing.assert_allclose(slow.z, native.z, rtol=0, atol=1e-11 * np.abs(native.z).max())
