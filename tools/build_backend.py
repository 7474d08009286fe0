"""Setuptools' build hooks; wheels need, beside it, what compiles their loops. See setup.py."""

from configparser import ConfigParser
from importlib.metadata import distributions
from sysconfig import get_path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings=None):
    """What the package needs where it runs, Numba as it is installed there: loops of another version are of no use."""
    declared = ConfigParser()
    declared.read("setup.cfg")
    needed = declared["options"]["install_requires"].split("\n")
    there = {d.metadata["Name"]: d.version for d in distributions(path=[get_path("purelib"), get_path("platlib")])}
    version = there.get("numba", "")
    if version.replace(".", "").isdigit():  # no version of somebody's own, which nobody else has
        needed = [f"numba=={version}" if name == "numba" else name for name in needed]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *filter(None, needed)]
