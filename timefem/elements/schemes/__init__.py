"""One-step schemes of the literature, imported when they are first used."""

import lazy_loader

from ..element import ELEMENTS

_places = [place.split(".")[2:] for place in ELEMENTS.places.values() if place.startswith(".schemes.")]
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={
    module: [name for other, name in _places if other == module] for module, _ in _places})
