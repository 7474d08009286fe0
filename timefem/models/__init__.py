"""Model files: a problem and its solver settings stated in TOML; robots in URDF and MJCF. No code in files.

The names here are imported when they are first used: all that files can state is slow to import.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    "build": ["check_tables", "load_model", "read_model"],
    "mjcf.read": ["read_mjcf"],
    "model": ["Model"],
    "robot": ["Robot"],
    "settings": ["inspect"],
    "urdf": ["read_urdf"],
})
