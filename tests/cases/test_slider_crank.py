"""The slider-crank against an ordinary differential equation in the angle of the crank."""

import numpy as np
from scipy.integrate import solve_ivp

import timefem as tf
from timefem.cases import find_case

CRANK, ROD, RADIUS, DENSITY, G = 0.3, 0.5, 0.02, 7850.0, 9.81


def slider(x):
    """Place of the slider at the crank angle x, measured from the vertical about e1."""
    return -CRANK * np.sin(x) + np.sqrt(ROD**2 - (CRANK * np.cos(x)) ** 2)


def inertia(x):
    """M(x) of T = 1/2 M xdot^2, of complex x as well."""
    def mass(length):
        return DENSITY * np.pi * RADIUS**2 * length

    def across(length):
        return mass(length) * (3 * RADIUS**2 + length**2) / 12

    s, c = np.sin(x), np.cos(x)
    root = np.sqrt(ROD**2 - (CRANK * c) ** 2)
    of_slider = -CRANK * c + CRANK**2 * s * c / root
    of_rod = np.array([(-CRANK * c + of_slider) / 2, -CRANK * s / 2])
    turn = CRANK * s / root  # of the rod, sin(angle) = CRANK / ROD cos(x)
    return (across(CRANK) + mass(CRANK) * CRANK**2 / 4 + mass(ROD) * (of_rod**2).sum() + across(ROD) * turn**2
            + DENSITY * 0.1 * 0.1 * 0.05 * of_slider**2)


def rate(t, y):
    """Lagrange's equation; M' by a complex step."""
    x, v = y
    slope = inertia(x + 1e-30j).imag / 1e-30
    weight = DENSITY * np.pi * RADIUS**2 * (CRANK + ROD) * G * CRANK / 2  # times cos(x): both centres at half height
    return [v, (-40 * t + weight * np.sin(x) - slope * v**2 / 2) / inertia(x)]


def test_slider_crank_against_the_equation_of_its_crank():
    times = np.linspace(0, 1, 11)
    expected = solve_ivp(rate, (0, 1), [0.0, 0.0], "DOP853", times, rtol=1e-13, atol=1e-13).y
    assert expected[0, -1] < -4 * np.pi  # two turns
    problem = find_case("slider-crank").make()
    sol = tf.solve(problem, tf.MixedGalerkin(4), 400)
    np.testing.assert_allclose(sol.position("slider", times)[:, 1], slider(expected[0]), rtol=0, atol=1e-8)
    r = sol.rotation_matrix("crank", times)
    np.testing.assert_allclose(r[:, 2, 2], np.cos(expected[0]), rtol=0, atol=1e-8)
    np.testing.assert_allclose(r[:, 2, 1], np.sin(expected[0]), rtol=0, atol=1e-8)
    np.testing.assert_allclose(sol.angular_velocity("crank", times)[:, 0], expected[1], rtol=0, atol=1e-7)
    assert sol.errors()["energy"] < 1e-11
