"""Estimation in the table of kinds."""

from ...errors import InputError
from ..common.kind import Kind
from ..initial.global_driver import Global
from .problem import Estimation
from .solve import solve_estimation


def no_estimate(problem, element):
    raise InputError("errors of estimated motions are not found by tolerance=; give n_elements, and compare with twice "
                     "as many")


ESTIMATION = Kind("estimation", Estimation, "an estimation problem", drivers=(Global,), solve=solve_estimation,
                  estimate=no_estimate, fits=lambda problem, element: problem.check_element(element),
                  mesh=lambda task: task.mesh_through(task.problem.kinks))
