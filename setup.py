"""The build of wheels; all that is declared stands in setup.cfg."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

MOST_SECONDS = 300


class PreparedBuild(build_py):
    """Copies the package, and compiles its loops beside it for the machine and the versions at hand.

    The package finds them where both agree, and else compiles what it calls. TIMEFEM_CACHE_DIR=off leaves them out.
    """

    def run(self):
        super().run()
        if not self.editable_mode and os.environ.get("TIMEFEM_CACHE_DIR") != "off":
            prepare(Path(self.build_lib).resolve())


def prepare(root):
    """`timefem prepare` of the package in a folder, into its own folder of compiled loops; fails without an error."""
    folder = root / "timefem" / "kernels" / "prepared"
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier build
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    own = {"TIMEFEM_CACHE_DIR": str(folder), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    print("compiling loops for this machine: half a minute", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "timefem", "prepare"], env=os.environ | own, cwd=root, check=True,
                       timeout=MOST_SECONDS)
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


setup(cmdclass={"build_py": PreparedBuild})
