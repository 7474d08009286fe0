"""Costs with kinks by controls, such as `abs(u)`, where solves do not settle: what to write instead."""

import casadi as ca

from ....errors import InputError, NotDifferentiable, warn
from ....mechanics.formulas.stored import StoredFormula, computed
from ....mechanics.formulas.text import text_of

KINKS, JUMPS = {"FABS": "abs", "FMAX": "max", "FMIN": "min"}, {"SIGN": "sign", "FLOOR": "floor", "CEIL": "ceil"}
LONG = 60  # characters from which on arguments are not written out


def tell_kinks(value, u, named):
    """Warn of the first kink or jump of a cost by controls u, and tell how it is stated without.

    Parameters
    ----------
    value, u : SX
    named : dict
        How the arguments are called in a text -> symbols, u among them.
    """
    symbols = [ca.vertcat(*named.values())]
    try:
        stored = StoredFormula.of("cost", ca.Function("cost", symbols, [ca.densify(value)]))
    except InputError:  # an operation that no text has
        return
    values = []
    for step in stored.steps:
        name, *operands = step
        values.append(computed(step, values, symbols))
        taken = [values[i] for i in operands] if name in KINKS or name in JUMPS else []
        if not any(ca.depends_on(x, u) for x in taken):
            continue
        if name != "FABS" or not _is_flat(stored, values, symbols, taken[0]):
            warn(_advice(name, [_text(x, named) for x in taken]), NotDifferentiable)
            return


def _is_flat(stored, values, symbols, given):
    """Whether the result does not change with the last of these values, of what is given, to first order where that
    is zero: |u|^3, which is |u| u^2."""
    x = ca.SX.sym("x")
    own = [*values[:-1], x]
    for step in stored.steps[len(own):]:
        own.append(computed(step, own, symbols))
    rate = ca.substitute(ca.gradient(own[stored.results[0]], x), x, 0)
    if given.is_symbolic():
        rate = ca.substitute(rate, given, 0)
    return not ca.symvar(rate) and float(ca.evalf(rate)) == 0


def _text(value, named):
    try:
        text = text_of("cost", value, named)
    except InputError:
        return None
    return None if "\n" in text or len(text) > LONG else text


def _advice(name, taken):
    bare = (text[1:-1] if text and text[0] == "(" else text or "..." for text in taken)
    what = f"cost: {(KINKS | JUMPS)[name]}({', '.join(bare)})"
    if name in JUMPS:
        return f"{what} jumps with the controls, so that a solve will hardly settle; take a smooth function, such as " \
            "tanh(x / width)"
    x, *further = (text or "xy"[i] for i, text in enumerate(taken))
    side, bounds = ("below", "None, 0") if name == "FMIN" else ("above", "0")
    rows = [f"now.control('s') - {x}", *(f"now.control('s') - {y}" for y in further or [f"-{x}"])]
    return (f"{what} has a kink by the controls, so that a solve will hardly settle; let a control lie {side} it: "
            f"s = Control(name='s') among the actuators, now.control('s') in its place in the cost, and "
            f"limits=Limit({rows}, {bounds})").replace("- -", "+ ")
