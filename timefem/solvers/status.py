"""How a solve ended, as data."""

from dataclasses import asdict, dataclass, field


@dataclass
class Status:
    """Outcome of a solve.

    Attributes
    ----------
    success : bool
    reason : str
        "converged", "not converged", "singular tangent", "linear solver failed", "not finite", "no guess".
    message : str
        One line for people: what happened, where, and a remedy.
    element : int or None
        Element that failed, counted from 0.
    time : float or None
        Start of that element [s].
    residual_history : list of float
        Scaled residual norm per Newton iteration, of the failed element or window, or of a global solve.
    """

    success: bool
    reason: str = "converged"
    message: str = "converged"
    element: int | None = None
    time: float | None = None
    residual_history: list = field(default_factory=list)

    as_dict = asdict

    @classmethod
    def failure(cls, reason, element, time, history, detail=""):
        """A failed solve, with the remedy that fits the reason."""
        history = [float(r) for r in history]
        trail = ", ".join(f"{r:.2e}" for r in history[-6:])
        remedy = {"not converged": "use a smaller step (more elements), a better guess or line_search=True",
                  "singular tangent": "check for redundant constraints, or use a smaller step",
                  "linear solver failed": "use backend='chain', or other options",
                  "not finite": "the model gave NaN or infinity: use a smaller step or check loads and potentials",
                  "no guess": "use a smaller step (more elements) or guess='constant'"}
        message = (f"{reason} in element {element} at t = {time:g}" + (f" (residuals {trail})" if trail else "")
                   + (f" [{detail}]" if detail else "") + f": {remedy[reason]}")
        return cls(False, reason, message, int(element), float(time), history)
