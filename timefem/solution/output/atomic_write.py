"""Files that are written whole or not at all."""

import os
import uuid
from contextlib import contextmanager
from pathlib import Path

from ...errors import InputError


def check_writable(path):
    """Check, before any work is done, that a file can be written to `path`; the file is not touched.

    Returns
    -------
    Path
        The path, with symbolic links followed.

    Raises
    ------
    InputError
        When the path is a folder, its folder does not exist, or there is no permission.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK | os.X_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise InputError(f"cannot write {path}: no permission")
    return target


@contextmanager
def replacing(path):
    """Path of a temporary file in the folder of `path`; it takes the place of `path` when the block succeeds."""
    target = check_writable(path)
    temporary = target.with_name(f".{uuid.uuid4().hex}.part")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file)  # the rename must not reach the disk before the data
        os.replace(temporary, target)
    except OSError as error:  # for instance a full disk
        raise OSError(f"could not write {path}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)
