"""Figures of the papers, reproduced by the scripts in `examples/<paper>`.

A script has a docstring (what the figure shows, then a paragraph that starts with "Claim:"), `main(quick=False)` that
returns a `Finding`, and `plot(finding, figure)` that draws it.
"""

from .runner import PAPERS, Check, Finding, find_scripts, run_scripts, script, write_page

__all__ = ["PAPERS", "Check", "Finding", "find_scripts", "run_scripts", "script", "write_page"]
