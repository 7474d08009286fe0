"""The picture of the floors of the package, docs/images/architecture.svg: imports run down.

python tools/architecture.py                  draws it
python tools/architecture.py --counts [NAME]  prints what the code is counted by, or the places of one count
"""

import sys
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "architecture.svg"
CORE = {"solving", "problems", "solution", "solvers", "assembly", "elements", "mechanics", "sparse",
        "kernels"}  # of one solve
FLOORS = {  # from the top; `tests/test_architecture.py` has their order
    "cli": "the command line: options from one declaration, commands imported when called",
    "verification": "numbers of others, compared: test sets, benchmarks, random mechanisms",
    "reproduction": "figures of the papers, their numbers compared",
    "cases": "ready-made problems with known answers, in Python and in model files",
    "models": "model files: parts by name, schema made from their declarations",
    "studies": "convergence, conservation, conditioning",
    "analysis": "linear equations around a state or a motion: modes, critical values, Floquet",
    "sensitivity": "derivatives by one transposed solve, identification",
    "solving": "the public verbs: solve, restart, solve_all, continuation",
    "problems": "one folder per kind: what is prescribed, its equations, guess, error estimate, solve",
    "solution": "fields in time, invariants, audit; output, drawing",
    "solvers": "equations, nonlinear methods, linear solvers, march",
    "assembly": "many elements: mesh, numbering in time order, sparse residual and tangent",
    "elements": "one time element as formulas; schemes, forms, augmented; evaluation of it",
    "mechanics": "what moves: bodies, joints, forces, composite parts → System",
    "sparse": "LU factors of sparse matrices, their products and norms",
    "kernels": "exact derivatives as machine code, kept on disk",
    "polynomials": "shape functions and quadrature, in time and along beams",
    "small things": "errors, status, validate, display, progress, parallel, interrupts",
}
TOP, STEP = 16, 34
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height}" font-family="sans-serif" font-size="14">
<defs><marker id="a" viewBox="0 0 10 10" refX="5" refY="9" markerWidth="7" markerHeight="7" orient="auto"><path \
d="M1 1 L5 9 L9 1" fill="none" stroke="#555"/></marker></defs>
"""
FLOOR = """<rect x="60" y="{y}" width="820" height="28" rx="4" fill="{fill}" stroke="#8aa"/>
<text x="74" y="{base}" font-weight="bold">{name}</text><text x="200" y="{base}" fill="#333">{what}</text>
"""
ARROW = """<line x1="36" y1="50" x2="36" y2="{end}" stroke="#555" stroke-width="2" marker-end="url(#a)"/>
<text x="26" y="{middle}" transform="rotate(-90 26 {middle})" text-anchor="middle" \
fill="#555">imports run down</text></svg>
"""


def picture():
    """The SVG, as text."""
    end = TOP + STEP * (len(FLOORS) - 1) + 22
    floors = "".join(FLOOR.format(y=y, base=y + 19, name=name, what=escape(what),
                                  fill="#dbe9f6" if name in CORE else "#f3f3f3")
                     for y, (name, what) in zip(range(TOP, end, STEP), FLOORS.items(), strict=True))
    return HEAD.format(height=end + 28) + floors + ARROW.format(end=end, middle=end / 2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--counts"]:
        import counts

        print(counts.places(sys.argv[2]) if sys.argv[2:] else counts.table())
        sys.exit()
    PICTURE.write_text(picture(), encoding="utf-8")
