"""Python functions as CasADi functions, and sparsity patterns from places."""

import casadi as ca
import numpy as np

from .... import interrupts
from ....errors import InputError


def refused_options(title, options, error):
    """The `InputError` for an error of CasADi about options that were given besides; others as they are."""
    text = str(error).strip().splitlines()[-1]
    if not options or "option" not in text:
        return error
    return InputError(f"{title}: options {options!r}: {text.split(': ', 1)[-1]}")


def guarded(owner, function):
    """The function on flat arrays; what it raises is `owner.failure`, too: CasADi would turn it into text."""
    def run(*arguments):
        try:
            if interrupts.asked():
                raise interrupts.Interrupted(interrupts.asked())
            return function(*(np.array(a).ravel() for a in arguments))
        except (Exception, KeyboardInterrupt) as error:
            owner.failure = error
            raise
    return run


def sparsity(n_rows, n_columns, places):
    """CasADi sparsity of entries (rows, columns), and their order in it."""
    rows, columns = (np.asarray(x, np.int64) for x in places)
    order = np.lexsort((rows, columns))
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=n_columns))])
    return ca.Sparsity(n_rows, n_columns, starts.tolist(), rows[order].tolist()), order


class _Called(ca.Callback):
    def __init__(self, spec, name, inputs, outputs, keep, options):
        ca.Callback.__init__(self)
        self.spec, self.names, self.keep = spec, (list(inputs), list(outputs)), keep
        self.construct(name, options)

    def get_n_in(self):
        return len(self.spec["inputs"])

    def get_n_out(self):
        return len(self.spec["outputs"])

    def get_sparsity_in(self, i):
        return self.spec["inputs"][i]

    def get_sparsity_out(self, i):
        return self.spec["outputs"][i]

    def get_name_in(self, i):
        return self.names[0][i]

    def get_name_out(self, i):
        return self.names[1][i]

    def eval(self, arguments):
        return self.spec["function"](*arguments)

    def has_reverse(self, n):
        return n == 1 and "reverse" in self.spec

    def get_reverse(self, n, name, inputs, outputs, options):
        return called(self.spec["reverse"], name, inputs, outputs, self.keep, options)

    def has_jacobian(self):
        return "jacobian" in self.spec

    def get_jacobian(self, name, inputs, outputs, options):
        return called(self.spec["jacobian"], name, inputs, outputs, self.keep, options)

    def has_jac_sparsity(self, output, i):
        return "jacobian" in self.spec

    def get_jac_sparsity(self, output, i, symmetric):
        return self.spec["jacobian"]["outputs"][output * len(self.spec["inputs"]) + i]


def called(spec, name, inputs, outputs, keep, options=None):
    """A CasADi function of a Python function.

    Parameters
    ----------
    spec : dict
        "inputs" and "outputs" (sparsities), "function" (of and to CasADi matrices), and perhaps "jacobian" and
        "reverse" of the same form.
    name : str
    inputs, outputs : list of str
    keep : object
        Has a list `functions`, which is made if need be and holds what must stay alive.
    options : dict, optional
    """
    function = _Called(spec, name, inputs, outputs, keep, options or {})
    keep.__dict__.setdefault("functions", []).append(function)
    return function
