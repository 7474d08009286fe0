"""Phases in model files: `[[phases]]`, each as a file of optimal control, and what ties them together."""

from ...errors import InputError
from ..common.kind import FileFormat
from ..optimal.kind import KEYS
from ..optimal.limits_in_files import couplings_from_file
from .problem import Phases


def check_file(document):
    if "link" in document.data["phases"][0]:
        raise document.error(("phases", 0, "link"), "the first phase follows no other one; leave it out")


def make_from_file(model):
    models = model.phases
    links = [None if "link" not in after.document.data else
             couplings_from_file(before, after, ("link",), after.document.data["link"])
             for before, after in zip(models[:-1], models[1:], strict=True)]
    problems = [one.problem for one in models]
    try:
        closing = couplings_from_file(models[0], models[-1], ("couplings",), model.document.data.get("couplings", {}),
                                      closing=True)
        return Phases(problems, links, closing, model.phase_names)
    except InputError as error:
        raise model.document.error((), str(error)) from None


def file_facts(problem):
    return {"links": [[link.name for link in links] for links in problem.links],
            "couplings": [coupling.name for coupling in problem.couplings]}


FILES = FileFormat(make_from_file, keys=KEYS, tables=("actuators", "limits", "couplings", "phases"), needed=("phases",),
                   check=check_file, facts=file_facts)
