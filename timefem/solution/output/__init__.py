"""Files and tables of solutions; the modules are imported when something is written or read."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["dataset", "hdf5", "save", "tables", "vtk"])
