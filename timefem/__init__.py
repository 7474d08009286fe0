"""timefem: sparse finite elements in time for mechanics.

The public names are declared in `__init__.pyi` and imported when they are first used.
"""

import os

import lazy_loader

from .parallel import tell_others_at_the_end
from .version import __version__  # noqa: F401

# With colorama installed Numba resets the colours of the terminal at exit: under mpirun, in the output of every rank
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

tell_others_at_the_end()

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
