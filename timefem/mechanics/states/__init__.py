"""States that users give: by bodies, by joints, relative to others; made consistent with constraints."""
