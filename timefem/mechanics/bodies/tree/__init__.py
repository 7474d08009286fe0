"""Open chains of links in joint coordinates."""

from .links import Link, TreeJoint
from .tree import Tree

__all__ = ["Link", "Tree", "TreeJoint"]
