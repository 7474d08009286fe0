"""The build of wheels; all that is declared stands in setup.cfg."""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before version 70
    from wheel.bdist_wheel import bdist_wheel

MOST_SECONDS = 1200
PREPARED = "timefem/kernels/prepared"
GLIBC = "manylinux_2_17"  # compiled loops refer to no library


class PreparedBuild(build_py):
    """Copies the package, and compiles its loops beside it, for the usual processors of this kind and this Python.

    The package finds them there, and compiles what else it calls. TIMEFEM_CACHE_DIR=off leaves them out.
    """

    def run(self):
        super().run()
        if not self.editable_mode and os.environ.get("TIMEFEM_CACHE_DIR") != "off":
            prepare(Path(self.build_lib).resolve())


class TaggedWheel(bdist_wheel):
    """A wheel that is for all machines when there are no compiled loops in it."""

    def get_tag(self):
        build = self.get_finalized_command("build_py")
        if not Path(build.build_lib, PREPARED).is_dir():
            return super().get_tag()
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if platform.libc_ver()[0] == "glibc":
            system = system.replace("linux", GLIBC)
        version = f"cp{sys.version_info.major}{sys.version_info.minor}"
        return version, version, system


def prepare(root):
    """`timefem prepare` of the package in a folder, into its own folder of compiled loops; fails without an error."""
    folder = root / PREPARED
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier build
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    own = {"TIMEFEM_CACHE_DIR": str(folder), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    print("compiling loops: half a minute", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "timefem", "prepare", "--portable"], env=os.environ | own, cwd=root,
                       check=True, timeout=MOST_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"without compiled loops, which each user's first run compiles: {error}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)  # what is there may be anything
    for path in folder.glob("*"):
        if path.name.startswith("lock-") or path.suffix == ".part":
            path.unlink()
        else:
            path.chmod(0o644)  # others than who installs are to read it
    if folder.exists():
        folder.chmod(0o755)


setup(cmdclass={"build_py": PreparedBuild, "bdist_wheel": TaggedWheel})
