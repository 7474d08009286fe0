"""States that users give: by bodies, by joints, relative to others; made consistent with constraints, also with those
that repeat others."""
