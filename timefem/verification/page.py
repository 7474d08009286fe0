"""The page of the atlas."""

from ..atomic_write import write_text

HEAD = """# Verification

Motions that others have solved, with their numbers and ours. Our own references and conserved quantities are in the
tests; here the truth comes from outside: published solutions, closed forms, other programs, and equations of motion
stated a second time on their own. Differences are relative to the largest number of each quantity. Made by
`timefem verify --page docs/reports/verification.md`; each entry is a test."""


def write_page(outcomes, path):
    """Write a Markdown page of the outcomes of entries."""
    agree = sum(o.agrees for o in outcomes)
    lines = [HEAD, "", f"{agree} of {len(outcomes)} entries agree.", ""]
    for o in outcomes:
        lines += [f"## {o.name}", "", f"{o.title[:1].upper()}{o.title[1:]}.", "", f"- Whose numbers: {o.source}",
                  f"- Numbers compared: {o.n_numbers}",
                  f"- Largest difference: {o.difference:.2g}, in {o.worst}: theirs {o.theirs:.15g}, ours {o.ours:.15g}"
                  f" ({'agrees' if o.agrees else '**does not agree**'} to {o.tolerance:g})",
                  *([f"- {o.remark}"] if o.remark else []),
                  f"- Time: {o.seconds:.1f} s", f"- Command: `{o.command}`", ""]
    write_text(path, "\n".join(lines))
