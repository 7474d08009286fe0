"""Files that an MJCF file includes."""

import os

from ..xml_file import XmlFile

MOST_FILES = 50


def included(file, root):
    """Put the contents of included files in their places; only of the folder of the file, or folders in it."""
    folder, seen = os.path.realpath(os.path.dirname(file.path) or "."), {os.path.realpath(file.path)}

    def walk(element, reader):
        for place, child in reversed(list(enumerate(element))):
            if child.tag != "include":
                walk(child, reader)
                continue
            path = os.path.realpath(os.path.join(folder, reader.text(child, "file")))
            if os.path.commonpath([folder, path]) != folder:
                raise reader.error(child, f"names {child.get('file')!r}, which is outside the folder of the file")
            if path in seen:
                raise reader.error(child, f"names {child.get('file')!r}, which is included already")
            seen.add(path)
            if len(seen) > MOST_FILES:
                raise reader.error(child, f"is one too many: at most {MOST_FILES} files are included")
            other = XmlFile(path)
            file.adopt(other)
            walk(other.root, other)
            element.remove(child)
            for i, new in enumerate(other.root):
                element.insert(place + i, new)

    walk(root, file)
