"""Pictures and films of solutions; the modules are imported when something is drawn."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["artists", "page", "plots", "snapshots"])
