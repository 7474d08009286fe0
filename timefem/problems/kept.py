"""What solves one after the other share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ..elements.evaluation.plan import ElementPlan

if TYPE_CHECKING:
    from ..assembly.mesh import TimeMesh
    from ..elements.element import TimeElement
    from ..mechanics.system import System


class _Lock:
    """A lock that its thread may take again; copies, and what is sent to other processes, have their own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self):
        return _Lock, ()


class Kept:
    """Plans, loops and equations of earlier solves of problems that differ in numbers only.

    Parameters
    ----------
    once : bool
        There is one solve only: what is large is not kept beyond its use.

    Attributes
    ----------
    last : Solution or None
        The last one that succeeded, to start from.
    lock
        Of whoever works with what is kept, see `alone_with`.
    """

    def __init__(self, once: bool = True) -> None:
        self.once, self.last, self.lock = once, None, _Lock()
        self._things: dict[Hashable, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_things": {}}  # which hold machine code, and are rebuilt

    def plan(self, system: System, element: TimeElement) -> Any:
        """The `ElementPlan` of a system, which has the numbers of that from now on."""
        plan = self._things.get(("plan", element))
        if plan is None or not plan.take(system):
            plan = self._things["plan", element] = ElementPlan(system, element)
        return plan

    def mesh(self, t_span: Sequence[float], n_elements: int, kinks: Sequence[float],
             make: Callable[[Sequence[float], int, Sequence[float]], TimeMesh]) -> TimeMesh:
        """The mesh `make(t_span, n_elements, kinks)`."""
        asked = tuple(t_span), n_elements, tuple(kinks)
        known, mesh = self._things.get("mesh", (None, None))
        if known != asked:
            mesh = make(t_span, n_elements, kinks)
            self._things["mesh"] = asked, mesh
        return mesh

    def thing(self, key: Hashable, of: Any, make: Callable[[], Any],
              renew: Callable[[Any], Any] = lambda thing: True) -> Any:
        """What `make()` made for this key and object; rebuilt where there is none, or `renew(thing)` is False."""
        known, thing = self._things.get(key, (None, None))
        if known is not of or renew(thing) is False:
            thing = make()
            self.put(key, of, thing)
        return thing

    def lend(self, key: Hashable, of: Any) -> Any:
        """What is kept for this key and object, which others do not get before it is `put` back; None without it."""
        known, thing = self._things.pop(key, (None, None))
        return thing if known is of else None

    def put(self, key: Hashable, of: Any, thing: Any) -> None:
        """Keep a thing for this key and object."""
        if not self.once:
            self._things[key] = of, thing


@contextmanager
def alone_with(*shared: Kept | None) -> Iterator[None]:
    """Where this thread is the only one that works with what is kept; others wait."""
    with ExitStack() as stack:
        for kept in sorted({kept for kept in shared if kept is not None}, key=id):  # all threads in one order
            stack.enter_context(kept.lock)
        yield
