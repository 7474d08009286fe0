"""The table `[guess]` of a model file, where it names a solution."""

from ...solution.output.load import load


def solution_guess(model):
    """The solution in a file beside the model file that `[guess]` names; None where there is no such table."""
    if "guess" not in model.document.data:
        return None
    keys = "guess", "solution"
    with model.naming(keys, ()):
        return load(model.beside(keys, model.document.data["guess"]["solution"]))


def check_guess(document):
    """InputError for keys of `[guess]` that are those of optimal control alone, and where no solution is named."""
    table = document.data.get("guess")
    if table is None:
        return
    for key in table:
        if key != "solution":
            raise document.error(("guess", key), 'belongs to [problem] with kind = "optimal" or "phases"; others take '
                                 "a solution")
    if "guess" in document.data.get("solver", {}):
        raise document.error(("solver", "guess"), "is given beside [guess]; leave one of them out")
    if "solution" not in table:
        raise document.error(("guess",), "names no solution")
