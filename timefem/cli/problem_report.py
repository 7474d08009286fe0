"""What a report tells of the kind of the problem."""

from ..cases import find_case
from ..errors import InputError
from ..problems.kinds import KINDS


def case_to_study(name, kinds=("initial",)):
    """The case of a study, by name; InputError where it is a problem of none of these kinds."""
    case = find_case(name)
    if case.kind not in kinds:
        known = " or ".join(f"{KINDS[kind].title.split(' ', 1)[1]}s" for kind in kinds)
        raise InputError(f"studies are those of {known}, and {name} is {KINDS[case.kind].title}")
    return case


def kind_facts(kind, problem, sol):
    """What matters of a solution besides what all have, as plain data."""
    if kind == "initial":
        return {}
    history = sol.status.residual_history
    facts = {"kind": kind, "residual": float(history[-1]) if len(history) else None}
    if len(sol.t) == 1:  # nothing was solved
        return facts
    if "continuation" in sol.statistics:
        facts["continuation"] = sol.statistics["continuation"]
    return facts | KINDS[kind].facts(problem, sol)


def kind_rows(r):
    """Rows of the table of a run, from its facts."""
    if "continuation" in r:
        yield "followed over", ", ".join(f"{value:.6g}" for value in r["continuation"])
    if "objective" in r:
        yield "objective", f"{r['objective']:.10g}"
    if r.get("conditions"):
        worst = max(r["conditions"], key=r["conditions"].get)
        yield "conditions met to", f"{r['conditions'][worst]:.2e}, {worst}"
    for name, value in r.get("parameters", {}).items():
        yield f"found: {name}", f"{value:.10g}"
    for name, value in r.get("outputs", {}).items():
        yield f"output {name} kept to", f"{value:.2e}"
    for name, values in r.get("controls", {}).items():
        yield f"largest control of {name}", ", ".join(f"{v:.6g}" for v in values)
    if "internal_dynamics" in r:
        yield "internal dynamics", f"of dimension {r['internal_dynamics']}, {r['unstable']} not stable"
    for name, one in r.get("numbers", {}).items():
        pairs = zip(one["value"], one["std"], strict=True)
        yield f"found: {name}", ", ".join(
            f"{value:.6g} (at its bound)" if std is None else f"{value:.6g} +- {std:.2g}" for value, std in pairs)
    if "verdict" in r:
        yield "fit", r["verdict"]
        if "log_evidence" in r:
            yield "log of the evidence", f"{r['log_evidence']:.8g}"
