"""The notebooks run from top to bottom, install what they need in one cell, and are stored without outputs."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))
SUBJECTS = ["first-body", "mechanism", "robot-from-urdf", "beam", "boundary-values", "optimal-control",
            "identification", "parallel-and-conditioning"]
INSTALL = "%pip install -q timefem"


def code(path):
    """Sources of the cells with code, without the one that installs."""
    cells = json.loads(path.read_text())["cells"]
    return [text for cell in cells if cell["cell_type"] == "code" if (text := "".join(cell["source"])) != INSTALL]


def test_as_stored():
    assert [path.stem.split("-", 1)[1] for path in NOTEBOOKS] == SUBJECTS
    for path in NOTEBOOKS:
        book = json.loads(path.read_text())
        assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
        assert book["metadata"].keys() <= {"kernelspec", "language_info"}
        cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        assert "".join(cells[0]["source"]) == INSTALL
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells), path.name
        assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
        assert "plot" in path.read_text()


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run(path, tmp_path, monkeypatch):
    """Cell by cell, what stands last is shown; each notebook ends with assertions on its numbers."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names, shown = {"__name__": "__main__"}, []
    for text in code(path):
        tree = ast.parse(text)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    matplotlib.pyplot.close("all")
    assert "assert" in text and len(shown) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_in_a_kernel(path, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    book.cells = [cell for cell in book.cells if cell.source != INSTALL]
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    frames = [output for output in outputs if "srcdoc" in output.get("data", {}).get("text/html", "")]
    assert frames or "plot.viewer" not in path.read_text()
