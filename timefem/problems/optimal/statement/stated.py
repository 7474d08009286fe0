"""What a problem of optimal control asks for, with its formulas as text: plain data for files and people."""

import casadi as ca
import numpy as np

from ....errors import InputError
from ....mechanics.forces.actuators import Cost, Effort
from ....mechanics.formulas.formula import call_vector
from ....mechanics.formulas.text import TextFormula, text_of
from ....mechanics.symbols import Symbols
from .couplings import BOTH_ENDS


def stated(problem):
    """Costs, limits and couplings of an `OptimalControl` by the arguments that make them.

    Returns
    -------
    dict
        "cost", a list of integrands, and "end_cost", as text; "limits" and "couplings", lists of dicts with the
        arguments of `Limit`, `Coupling`, and, by "type" as in model files, `Complementary` and `CoulombFriction`. None
        stands for a formula that cannot be written.
    """
    z, u, t, c = (ca.SX.sym("z", problem.system.n_z), ca.SX.sym("u", problem.n_controls), ca.SX.sym("t"),
                  ca.SX.sym("c", len(problem.guesses)))
    of_now = {"now.z": z, "u": u, "now.t": t, **_numbers(problem, c, "now.")}
    now, write = problem.now(z, t, c, u), _writer(of_now)
    found = {"cost": [_integrand(problem, part) for part in problem.system.parts if isinstance(part, Cost)],
             "limits": [limit.stated(lambda formula: write(formula, now, u)) for limit in problem.limits],
             "couplings": coupled(problem, problem, problem.couplings, BOTH_ENDS, (0, 1))}
    if problem.end_cost is not None:
        end, parameters = problem._at_end(z, c)
        found["end_cost"] = _writer({"end.z": z, **_numbers(problem, c)})(problem.end_cost, end, parameters)
    return found


def coupled(first, second, couplings, words, places):
    """Couplings of an end of one problem and an end of another one, 0 for its start, by the arguments that make them.
    """
    symbols, ends = {}, []
    for problem, word, last in zip((first, second), words, places, strict=True):
        z, c = ca.SX.sym("z", problem.system.n_z), ca.SX.sym("c", len(problem.guesses))
        ends.append(problem.now(z, ca.SX(problem.time(problem.t_span[last], c / problem.units)), c))
        symbols |= {f"{word}.z": z, **_numbers(problem, c, f"{word}.")}
    write = _writer(symbols)
    return [{"formula": write(coupling.formula, *ends), "lower": plain(coupling.lower), "upper": plain(coupling.upper),
             "name": coupling.name} for coupling in couplings]


def plain(bound):
    """Bounds as data: numbers, None for none, and functions of the time as text."""
    if not callable(bound):
        entries = [plain(x) if callable(x) else float(x) if np.isfinite(x) else None for x in bound]
        return entries[0] if len(entries) == 1 else entries
    t = ca.SX.sym("t")
    return _writer({"t": t})(bound, t)


def _numbers(problem, c, lead=""):
    return {f"{lead}parameters[{name!r}]": c[i] for i, name in enumerate(problem.unknown_names)}


def _writer(symbols):
    """`write(formula, *arguments)` -> text, of what is made of these symbols."""
    def write(formula, *arguments):
        if isinstance(formula, TextFormula):
            return formula.text
        try:
            values = ca.vertsplit(call_vector("a formula", formula, *arguments))
            return text_of("a formula", values[0] if len(values) == 1 else values, symbols)
        except InputError:
            return None

    return write


def _integrand(problem, part):
    """Of its bodies and actuators by name."""
    system = problem.system
    if isinstance(part, Effort):
        return f"dot({part.weights.tolist()}, now.control({system.label(part.controls[0])!r})**2) / 2"
    if isinstance(getattr(part, "given", None), TextFormula):
        return part.given.text
    s, u = Symbols(part), [ca.SX.sym("u", a.n_controls) for a in part.controls]
    s.velocity = [ca.SX.sym("v", body.n_q) for body in part.bodies]
    symbols = {f"now.q({system.label(body)!r})": q for body, q in zip(part.bodies, s.q, strict=True)}
    symbols |= {f"now.rates({system.label(body)!r})": v for body, v in zip(part.bodies, s.velocity, strict=True)}
    symbols |= {f"now.control({system.label(a)!r})": x for a, x in zip(part.controls, u, strict=True)}
    unknown = {f"now.parameters[{source!r}]": s.own[i] for i, source in enumerate(part.sources)
               if isinstance(source, str)}
    known = [i for i in range(s.own.numel()) if not (part.sources and isinstance(part.sources[i], str))]
    following = problem.numbers.following.get(part)
    if following and set(known) & set(following[1].places):
        return None  # of numbers of parts that are unknown themselves
    value = ca.substitute(ca.SX(part.cost(s, ca.vertcat(ca.SX(0, 1), *u))), s.own[known],
                          ca.SX(part.own_parameters[known]))
    symbols |= unknown
    try:
        return text_of("cost", value, symbols | {"now.t": s.t})
    except InputError:
        return None
