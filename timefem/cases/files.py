"""Cases that are model files, in the folder `files`: their settings are in the file as well."""

from timefem import load_model

from ..memory import tomllib
from .table import FILES, define_problem

RIGID = "rigid"


def _enter(path):
    data = tomllib.loads(path.read_text(encoding="utf-8"))

    def rigid(t_end, **rotation):
        return load_model(path, t_end=t_end, **rotation).problem

    def other(t_end):
        return load_model(path, t_end=t_end).problem

    bodies = data.get("bodies", {}).values()
    build = rigid if any(body["type"] == RIGID for body in bodies) else other
    build.__doc__ = data["description"]
    time = data["time"]
    define_problem(path.stem, data["title"], data["problem"]["kind"], time["span"][1], time["n_elements"], path)(build)


for path in sorted(FILES.glob("*.toml")):
    _enter(path)
