"""What a reproduced figure says."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Check:
    """One number that is compared with the paper.

    Attributes
    ----------
    what : str
        With units.
    measured : float
    claimed : str
        The paper's number or words.
    agrees : bool
    """

    what: str
    measured: float
    claimed: str
    agrees: bool


@dataclass
class Finding:
    """What a script found.

    Attributes
    ----------
    checks : list of Check
    data : dict
        Anything that `plot` needs.
    remark : str
        For the page: where the paper is wrong, or what was done otherwise.
    """

    checks: list = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    remark: str = ""

    def check(self, what, measured, claimed, agrees):
        """Add a number, the claim about it, and whether they agree."""
        self.checks.append(Check(what, float(measured), claimed, bool(agrees)))

    @property
    def agrees(self):
        """Whether all checks agree; False without any."""
        return bool(self.checks) and all(c.agrees for c in self.checks)

    def facts(self):
        """Plain data for JSON, without what is only drawn."""
        return {"agrees": self.agrees, "remark": self.remark, "checks": [asdict(c) for c in self.checks]}
