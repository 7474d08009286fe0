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
    verdict : {"agrees", "differs", "not checked"}
        The last one where the paper has no such number, or measures in another way.
    why : str
        It differs, or is not checked.
    """

    what: str
    measured: float
    claimed: str
    verdict: str
    why: str = ""


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

    def check(self, what, measured, claimed, agrees, why=""):
        """Add a number, the claim about it, and whether they agree: None where that is not checked.

        What the paper does "not give" is never checked. `why` they differ is reported where they do.
        """
        if agrees is None or claimed.startswith("not given"):
            verdict = "not checked"
        else:
            verdict, why = ("agrees", "") if agrees else ("differs", why)
        self.checks.append(Check(what, float(measured), claimed, verdict, why))

    @property
    def agrees(self):
        """Whether some checks agree, and none differs."""
        verdicts = {check.verdict for check in self.checks}
        return "agrees" in verdicts and "differs" not in verdicts

    @property
    def settled(self):
        """Whether there are checks, and each one that differs says why."""
        return bool(self.checks) and all(check.why for check in self.checks if check.verdict == "differs")

    def facts(self):
        """Plain data for JSON, without what is only drawn."""
        return {"agrees": self.agrees, "settled": self.settled, "remark": self.remark,
                "checks": [asdict(c) for c in self.checks]}
