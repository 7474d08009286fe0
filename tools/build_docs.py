"""The documentation as a site: a folder for each version, a menu of them, and a start page that leads to the newest.

python tools/build_docs.py [SITE]

Earlier versions stay as they are where SITE (default: site) has them, so that a release adds its folder.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from timefem import __version__

ROOT = Path(__file__).parents[1]
START = '<!DOCTYPE html><meta http-equiv="refresh" content="0; url={0}/index.html"><a href="{0}/index.html">{0}</a>\n'


def list_versions(site):
    """Write the menu and the start page of the folders that are there; returns the versions, newest first."""
    folders = [path.parent.name for path in Path(site).glob("*/index.html")]
    names = sorted(folders, key=lambda name: [int(n) for n in re.findall(r"\d+", name)], reverse=True)
    menu = [{"version": name, "title": name, "aliases": ["latest"] * (name == names[0])} for name in names]
    Path(site, "versions.json").write_text(json.dumps(menu) + "\n")
    Path(site, "index.html").write_text(START.format(names[0]))
    return names


def main(site="site"):
    folder = Path(site).resolve() / __version__
    run = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder], cwd=ROOT)
    if run.returncode == 0:
        print("versions:", ", ".join(list_versions(site)))
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
