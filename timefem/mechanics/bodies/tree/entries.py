"""Numbers of links and joints of a tree by their names: "upper.mass", "elbow.damping", "upper.inertia"."""

from .links import Link, TreeJoint

VARIED = {"links": Link.varied, "joints": TreeJoint.varied}


def spelt_out(tree, path):
    """ "links[2].mass" for "upper.mass"; else the path itself."""
    for table in ("links", "joints"):
        for i, thing in enumerate(getattr(tree, table)):
            if str(path).startswith(f"{thing.name}."):
                return f"{table}[{i}]{path[len(thing.name):]}"
    return path


def named_numbers(tree):
    """All of them: "upper.mass", ..."""
    return [f"{thing.name}.{name}" for table, names in VARIED.items() for thing in getattr(tree, table)
            for name in names]
