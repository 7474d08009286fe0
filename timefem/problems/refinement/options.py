"""Thresholds of meshes that are refined to a tolerance."""

from __future__ import annotations

from dataclasses import dataclass

from ...validate.records import Options, documented, option


@documented
@dataclass(frozen=True)
class RefinementOptions(Options):
    """Thresholds of meshes that are refined to a tolerance."""

    # ---- grading
    aim: float = option(0.5, "share of the tolerance that a mesh aims at")
    growth: int = option(4, "factor of the number of elements from mesh to mesh, at most")
    grading: float = option(0.5, "factor by which the density of elements falls from one element to the next, at most")
    piece: int = option(2000, "elements whose tangents are held at once")

    # ---- loop
    first_mesh: int = option(16, "elements of the first mesh")
    most_meshes: int = option(20, "meshes that are tried")
    most_failures: int = option(6, "failures one after the other")
    stagnation: int = option(
        2, "meshes in a row on which the error stays as it is, by rounding, before this is given up")
    rough: float = option(0.1, "estimated error from which on a solution says nothing of where elements should be")


OPTIONS = RefinementOptions()
