"""Systems of states of first order alone: reactors, ecologies, navigation."""

import casadi as ca
import numpy as np
from cases import case, of_states

import timefem as tf


@case(-4.8055685e-2, "converged here; COPS 3, catalyst mixing: 4.80556e-2", n=100, within=3e-4)
def catalyst_mixing() -> tf.OptimalControl:
    def rate(x, u):
        return ca.vertcat(u[0] * (10 * x[1] - x[0]), u[0] * (x[0] - 10 * x[1]) - (1 - u[0]) * x[1])

    return of_states(rate, [1, 0], [None, None], (0, 1), [(0, 1)], end_cost="end.q('x')[0] + end.q('x')[1] - 1")


@case(-0.6108029, "transcription (Denbigh, batch reactor; 0.610775 in PSOPT)", n=40, finer=8)
def batch_reactor() -> tf.OptimalControl:
    """Rates of Arrhenius; the temperature enters by its exponentials."""
    def rate(x, u):
        first, second = 4000 * ca.exp(-2500 / u[0]), 620000 * ca.exp(-5000 / u[0])
        return ca.vertcat(-first * x[0]**2, first * x[0]**2 - second * x[1])

    return of_states(rate, [1, 0], [None, None], (0, 1), [(298, 398)], end_cost="-end.q('x')[1]")


@case(1.34408, "Sager (mintoc.de), Lotka and Volterra fishing, relaxed", n=200)
def fishing() -> tf.OptimalControl:
    def rate(x, u):
        return ca.vertcat(x[0] - x[0] * x[1] - 0.4 * x[0] * u[0], -x[1] + x[0] * x[1] - 0.2 * x[1] * u[0])

    return of_states(rate, [0.5, 0.7], [None, None], (0, 12), [(0, 1)],
                     "(now.q('x')[0] - 1)**2 + (now.q('x')[1] - 1)**2")


@case(3.61518, "transcription (CasADi, Van der Pol)", n=120)
def van_der_pol() -> tf.OptimalControl:
    return of_states(lambda x, u: ca.vertcat((1 - x[1]**2) * x[0] - x[1] + u[0], x[0]), [0, 1], [None, None], (0, 10),
                     [(-1, 1)],
                     "now.q('x')[0]**2 + now.q('x')[1]**2 + u[0]**2",
                     limits=[tf.Limit("now.q('x')[0]", -0.25, None, name="least")])


@case(44.617876, "transcription (Jacobson; PSOPT, rayleigh)", n=60)
def rayleigh() -> tf.OptimalControl:
    return of_states(lambda x, u: ca.vertcat(x[1], -x[0] + x[1] * (1.4 - 0.14 * x[1]**2) + 4 * u[0]), [-5, -5], [None,
                                                                                                                 None],
                     (0, 4.5), [(-1, 1)], "u[0]**2 + now.q('x')[0]**2")


@case(1.3308068, "transcription (Rao and Mease, hypersensitive; PSOPT)", n=160)
def hypersensitive() -> tf.OptimalControl:
    return of_states(lambda x, u: ca.vertcat(-x[0]**3 + u[0]), [1.5], [1.0], (0, 20), [(None, None)],
                     "(now.q('x')[0]**2 + u[0]**2) / 2")


@case(0.005150385, "transcription on 320 and 640 elements (Augustin and Maurer, container crane; PSOPT)", n=80)
def container_crane() -> tf.OptimalControl:
    def rate(x, u):
        return ca.vertcat(9 * x[3], 9 * x[4], 9 * x[5], 9 * (u[0] + 17.2656 * x[2]), 9 * u[1],
                          -9 / x[1] * (u[0] + 27.0756 * x[2] + 2 * x[4] * x[5]))

    speeds = tf.Limit("[now.q('x')[3], now.q('x')[4]]", [-2.5, -1.0], [2.5, 1.0], name="speeds")
    return of_states(rate, [0, 22, 0, 0, -1, 0], [10, 14, 0, 2.5, 0, 0], (0, 1), [(-2.83374, 2.83374),
                                                                                  (-0.80865, 0.71265)],
                     "4.5 * (now.q('x')[2]**2 + now.q('x')[5]**2)", limits=[speeds])


@case(5.264932, "transcription (Zermelo's ship in a current that grows with the place)", n=30)
def zermelo() -> tf.OptimalControl:
    return of_states(lambda x, u: ca.vertcat(ca.cos(u[0]) - x[1], ca.sin(u[0])), [3.5, -1.8], [0, 0], (0, 5),
                     [(np.pi / 2, 3 * np.pi / 2)],
                     end_cost="end.t", free_time=True, bounds={"duration": (1, 20)})


@case(7.613728, "transcription: two arcs and a line of Dubins (turn radius 1)", n=60)
def dubins() -> tf.OptimalControl:
    return of_states(lambda x, u: ca.vertcat(ca.cos(x[2]), ca.sin(x[2]), u[0]), [0, 0, 0], [4, 4, np.pi], (0, 8),
                     [(-1, 1)],
                     end_cost="end.t", free_time=True, bounds={"duration": (2, 20)})


@case(-1.5252777, "converged here; Bryson and Ho, 2.5, orbit raising by a low thrust: 1.5253", n=60)
def orbit_raising() -> tf.OptimalControl:
    """Radius, radial speed and speed around; the mass is a given function of the time, here a fourth state."""
    def rate(x, u):
        thrust = 0.1405 / (1 - 0.0749 * x[3])
        return ca.vertcat(x[1], x[2]**2 / x[0] - 1 / x[0]**2 + thrust * ca.sin(u[0]),
                          -x[1] * x[2] / x[0] + thrust * ca.cos(u[0]), 1)

    return of_states(rate, [1, 0, 1, 0], [None, 0, None, None], (0, 3.32), [(-np.pi, 2 * np.pi)],
                     end_cost="-end.q('x')[0]", end_conditions="end.q('x')[2]**2 * end.q('x')[0] - 1")


@case(5.0684801, "COPS 3, hanging chain of length 4", n=20)
def hanging_chain() -> tf.OptimalControl:
    length = tf.Limit("sqrt(1 + u[0]**2)", 4, 4, at="integral", name="length")
    return of_states(lambda x, u: u, [1], [3], (0, 1), [(None, None)], "now.q('x')[0] * sqrt(1 + u[0]**2)",
                     limits=[length])


@case(0.3769917, "transcription (Aly, a double integrator whose control is singular at last; PSOPT)", n=100)
def singular_at_last() -> tf.OptimalControl:
    return of_states(lambda x, u: ca.vertcat(x[1], u[0]), [0, 1], [None, None], (0, 5), [(-1, 1)],
                     "(now.q('x')[0]**2 + now.q('x')[1]**2) / 2")


@case(-0.3765299, "transcription (an isoperimetric problem; PSOPT)", n=20)
def isoperimetric() -> tf.OptimalControl:
    power = tf.Limit("u[0]**2", None, 10, at="integral", name="power")
    return of_states(lambda x, u: ca.vertcat(u[0] - ca.sin(x[0])), [1], [0], (0, 1), [(-4, 10)], "now.q('x')[0]",
                     limits=[power])


@case(5.9917966, "closed form (Euler): the catenary through both rings", n=20)
def soap_film() -> tf.OptimalControl:
    """Least area between two rings of radius 1 at a distance of 1."""
    return of_states(lambda x, u: u[0], [1], [1], (-0.5, 0.5), [(None, None)],
                     "2 * pi * now.q('x')[0] * sqrt(1 + u[0]**2)")


@case(0.16982053, "converged here; Jacobson and Lele, a bound that varies with time (PSOPT: 0.1698)", n=40)
def below_a_parabola() -> tf.OptimalControl:
    below = tf.Limit("now.q('x')[1] - 8 * (now.t - 0.5)**2 + 0.5", None, 0, name="below")
    return of_states(lambda x, u: ca.vertcat(x[1], -x[1] + u[0]), [0, -1], [None, None], (0, 1), [(-20, 20)],
                     "now.q('x')[0]**2 + now.q('x')[1]**2 + 0.005 * u[0]**2", limits=[below])


@case(3.3192203, "converged here; Bryson and Ho, 2.5, from the orbit of Earth to that of Mars in least time", n=60)
def earth_to_mars() -> tf.OptimalControl:
    """The thrust turns about once within 0.4 of 3.3 units of time; its angle could wait at a bound instead."""
    def rate(x, u):
        thrust = 0.1405 / (1 - 0.0749 * x[3])
        return ca.vertcat(x[1], x[2]**2 / x[0] - 1 / x[0]**2 + thrust * ca.sin(u[0]),
                          -x[1] * x[2] / x[0] + thrust * ca.cos(u[0]), 1)

    return of_states(rate, [1, 0, 1, 0], [1.525, 0, 1.525**-0.5, None], (0, 4), [(-np.pi, 2 * np.pi)],
                     end_cost="end.t", free_time=True, bounds={"duration": (0.5, 20)})


@case(3.10812211, "Betts 2010, 10.50: a delay equation, laid end to end (opty)")
def delay_equation() -> tf.OptimalControl:
    """x' = x(t - 1) u(t - 2), of six units of time side by side."""
    ends = [tf.Coupling(f"start.q('x')[{i + 1}] - end.q('x')[{i}]") for i in range(5)]
    return of_states(
        lambda x, u: ca.vertcat(0, 0, *(x[i] * u[i - 1] for i in range(1, 5))), [1, *[None] * 5], [None] * 6, (0, 1),
        [(None, None)] * 6, "sumsqr(now.q('x')) + sumsqr(u)", limits=[tf.Limit("now.q('x') + u", 0.3, None,
                                                                               name="least")], couplings=ends)


@case(1.2368876, "transcription (a unicycle that is brought to the origin; acados)", n=40)
def unicycle() -> tf.OptimalControl:
    return of_states(
        lambda x, u: ca.vertcat(x[3] * ca.cos(x[2]), x[3] * ca.sin(x[2]), x[4], u[0], u[1]), [-1, -1, 0, 0, 0],
        [0, 0, np.pi / 2, 0, 0], (0, 4), [(-1, 1), (-2, 2)], "sumsqr(u) + 0.1 * sumsqr(now.q('x')[0:2])")
