"""Setuptools' build hooks; wheels need, beside it, what compiles their loops. See setup.py."""

import os
from configparser import ConfigParser

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings=None):
    """What the package needs where it runs, where loops are to be compiled."""
    needed = ""
    if os.environ.get("TIMEFEM_CACHE_DIR") != "off":
        declared = ConfigParser()
        declared.read("setup.cfg")
        needed = declared["options"]["install_requires"]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *filter(None, needed.split("\n"))]
