"""What formulas divide by: there they have poles."""

import casadi as ca

_EVEN = ca.OP_SQ, ca.OP_EXP, ca.OP_SQRT, ca.OP_FABS, ca.OP_COSH
_LIKE = ca.OP_TWICE, ca.OP_INV


def divisors(formula: ca.SX, symbols: ca.SX) -> ca.SX:
    """Divisors in a formula that depend on symbols and may change their signs, SX (n,).

    Sums of squares, roots and the like keep theirs, and are left out.
    """
    signs, found = {}, {}
    for x in _terms(formula):
        operands = [x.dep(i) for i in range(x.n_dep())]
        known = [signs[y.element_hash()] for y in operands]
        signs[x.element_hash()] = _sign(x, operands, known)
        for divisor in _divided_by(x, operands):
            if not signs.get(divisor.element_hash(), 0):
                found[divisor.element_hash()] = divisor
    return ca.vertcat(ca.SX(0, 1), *(x for x in found.values() if ca.depends_on(x, symbols)))


def _terms(formula):
    """All terms of a formula, each once, behind those that it is made of."""
    seen, left = set(), [(x, False) for x in ca.SX(formula).nonzeros()]
    while left:
        x, done = left.pop()
        if done:
            yield x
        elif x.element_hash() not in seen:
            seen.add(x.element_hash())
            left.append((x, True))
            left += [(x.dep(i), False) for i in range(x.n_dep())]


def _divided_by(x, operands):
    op = x.op() if operands else None
    if op == ca.OP_DIV:
        return operands[1:]
    if op == ca.OP_INV:
        return operands
    if op == ca.OP_TAN:
        return [ca.cos(operands[0])]
    return operands[:1] if op in (ca.OP_POW, ca.OP_CONSTPOW) and _constant(operands[1]) < 0 else []


def _sign(x, operands, known):
    """1 for terms that are not negative whatever the symbols are, -1 for those that are not positive, else 0."""
    if x.is_constant():
        return 1 if float(x) >= 0 else -1
    op = x.op() if operands else None
    if op in _EVEN:
        return 1
    if op in _LIKE:
        return known[0]
    if op == ca.OP_NEG:
        return -known[0]
    if op in (ca.OP_MUL, ca.OP_DIV):
        return known[0] * known[1]
    if op in (ca.OP_ADD, ca.OP_SUB):
        return known[0] if known[0] == (known[1] if op == ca.OP_ADD else -known[1]) else 0
    return 0


def _constant(x):
    return float(x) if x.is_constant() else 0.0
