"""What solves one after the other share."""

from ...elements.evaluation.plan import ElementPlan


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
    """

    def __init__(self, once=True):
        self.once, self.last, self._things = once, None, {}

    def plan(self, system, element):
        """The `ElementPlan` of a system, which has the numbers of that from now on."""
        plan = self._things.get(("plan", element))
        if plan is None or not plan.take(system):
            plan = self._things["plan", element] = ElementPlan(system, element)
        return plan

    def mesh(self, t_span, n_elements, kinks, make):
        """The mesh `make(t_span, n_elements, kinks)`."""
        asked = tuple(t_span), n_elements, tuple(kinks)
        known, mesh = self._things.get("mesh", (None, None))
        if known != asked:
            mesh = make(t_span, n_elements, kinks)
            self._things["mesh"] = asked, mesh
        return mesh

    def thing(self, key, of, make, renew=lambda thing: True):
        """What `make()` made for this key and object; made anew where there is none, or `renew(thing)` is False."""
        known, thing = self._things.get(key, (None, None))
        if known is not of or renew(thing) is False:
            thing = make()
            self.put(key, of, thing)
        return thing

    def put(self, key, of, thing):
        """Keep a thing for this key and object."""
        if not self.once:
            self._things[key] = of, thing
