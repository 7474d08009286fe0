"""timefem: sparse finite elements in time for mechanics.

The public names are declared in `__init__.pyi` and imported when they are first used.
"""

import atexit
import gc
import importlib.util
import os
import warnings

import lazy_loader

from .errors import did_you_mean
from .memory import uncollected
from .parallel import tell_others_at_the_end
from .version import __version__  # noqa: F401

# With colorama installed Numba resets the colours of the terminal at exit: under mpirun, in the output of every rank
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

# `np.cos(t)` in a formula is a CasADi symbol under either of the two behaviours between which CasADi asks to choose
warnings.filterwarnings("ignore", r"\s*casadi: a numpy function", FutureWarning)

tell_others_at_the_end()
atexit.register(gc.freeze)  # looking for cycles in all of CasADi and Numba takes the end of a process a quarter second

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    if name not in __all__ and not name.startswith("_"):
        if importlib.util.find_spec(f"{__name__}.{name}"):  # which `from . import validate` asks for before it imports
            raise AttributeError(f"timefem has no {name!r}; import timefem.{name}")
        raise AttributeError(f"timefem has no {name!r}{did_you_mean(name, __all__)}")
    with uncollected():
        return _public(name)
