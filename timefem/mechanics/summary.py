"""A system as a table."""

from ..display import Card

LISTED = 12  # parts in a table


def idle_coordinates(system):
    """Number of coordinates that take no part in the motion: counts of turns, lengths of quaternions of trees."""
    return sum(body.n_q if body.helper else body.n_q - getattr(body, "n_v", body.n_q) for body in system.bodies)


def summarize(system):
    """Bodies, joints and forces, as a `Card`."""
    facts = {"bodies": sum(not body.helper for body in system.bodies), "coordinates": system.n_q,
             "constraints": system.n_constraints}
    facts |= {"nonholonomic constraints": system.n_nonholonomic} if system.n_nonholonomic else {}
    facts |= {"redundant constraints left out": ", ".join(system.dropped)} if system.dropped else {}
    idle = idle_coordinates(system)
    facts |= {"coordinates that only count turns or keep lengths": idle} if idle else {}
    facts["degrees of freedom, unless constraints repeat each other"] = system.n_q - idle - system.n_constraints
    tables = {"bodies": [("name", "what it is", "mass [kg]", "coordinates", "constraints of its own")]}
    tables["bodies"] += [(system.label(b), _kind(b), "" if b.mass is None else f"{b.mass:g}", b.n_q,
                          len(b.constraint_names)) for b in system.bodies[:LISTED]]
    for title, parts in (("joints", system._joints), ("forces", system._forces)):
        if parts:
            tables[title] = [("name", "what it is", "on", "constraints")[:4 if title == "joints" else 3]]
            tables[title] += [(system.label(p), _kind(p), " and ".join(map(system.label, p.bodies)),
                               len(p.constraint_names) + len(p.nonholonomic_names))[:len(tables[title][0])]
                              for p in parts[:LISTED]]
    for title, parts in (("bodies", system.bodies), ("joints", system._joints), ("forces", system._forces)):
        if len(parts) > LISTED:
            tables[f"{title}, {len(parts) - LISTED} more"] = tables.pop(title)
    return Card("System", facts, tables)


def _kind(part):
    """Class of a part as a user makes it, and the coordinates of its rotation."""
    name = "RigidBody" if hasattr(part, "rotation_rate") else type(part).__name__
    return f"{name}, {part.rotation}" if hasattr(part, "rotation_rate") else name
