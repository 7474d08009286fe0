"""Optimal control in phases in the table of kinds, and in model files, each phase as a file of optimal control."""

from itertools import pairwise

from ...errors import InputError
from ..initial.global_driver import Global
from ..kinds import FileFormat, Kind
from ..optimal.files import ENTRIES, KEYS, couplings_from_file
from ..optimal.files import FILES as OF_ONE
from ..optimal.solve import UNUSED
from ..optimal.statement.couplings import SameState
from ..optimal.transcription.sizes import has_contacts
from .problem import Phases
from .solve import solve_phases


def check_file(document):
    if "link" in document.data["phases"][0]:
        raise document.error(("phases", 0, "link"), "the first phase follows no other one; leave it out")


def make_from_file(model):
    models, document = model.phases, model.document
    first, last = models[0], models[-1]

    def same(keys, bodies):
        """Of the last end, as far as constraints leave the first start open."""
        if not first.problem.free_start:
            raise document.error(keys, "the start is given as a whole; leave some of it free in problem.start")
        return SameState(last.problem, first.problem, bodies, keys[-1], closing=True)

    links = [_link(*pair) for pair in pairwise(models)]
    closing = document.data.get("couplings", {})
    tied = couplings_from_file(first, last, ("couplings",), closing, same)
    stated = [(name, ("couplings", name), entry) for name, entry in closing.items()]
    stated += [(name, ("phases", k, "link", name), entry) for k, one in enumerate(document.data["phases"])
               for name, entry in one.get("link", {}).items()]
    with model.naming((), (), stated):
        return Phases([one.problem for one in models], links, tied, model.phase_names)


def _link(before, after):
    """Couplings of a phase and the one before it; None where the state goes on as a whole."""
    def same(keys, bodies):
        return SameState(before.problem, after.problem, bodies, keys[-1])

    if "link" in after.document.data:
        return couplings_from_file(before, after, ("link",), after.document.data["link"], same)
    if [(body.name, body.n_q) for body in before.system.bodies] != [(b.name, b.n_q) for b in after.system.bodies]:
        raise after.document.error(("link",), "is missing: the phase has other bodies than the one before it; say what "
                                   'goes on, as in [phases.link.NAME] with type = "same" and bodies')
    return None


def guess_from_file(model):
    """One for each phase; None where none has any."""
    guesses = [OF_ONE.guess(one) for one in model.phases]
    return guesses if any(guess is not None for guess in guesses) else None


def file_facts(problem):
    return {"links": [[link.name for link in links] for links in problem.links],
            "couplings": [coupling.name for coupling in problem.couplings]}


FILES = FileFormat(make_from_file, keys=KEYS, needed=("phases",), entries=ENTRIES,
                   tables=("actuators", "outputs", "limits", "couplings", "phases", "guess"),
                   guess=guess_from_file, check=check_file, facts=file_facts)


# ---- optimal control in phases in the table of kinds

def no_estimate(problem, element):
    raise InputError("errors of given phases are not estimated; solve them with tolerance=")


PHASES = Kind("phases", Phases, "optimal control in phases", drivers=(Global,), solve=solve_phases,
              estimate=no_estimate, files=__name__, fits=Phases.check_element,
              unused=lambda problem: (UNUSED, "where phases are solved by an interior-point method"),
              smooth=lambda problem: not any(map(has_contacts, problem.phases)), one_motion=False)
