"""The bytes of a file that a user names: of a regular one, and not of more than a model needs."""

import os
import stat

from ..atomic_write import real_path
from ..errors import InputError


def read_file(path, most):
    """Bytes of a file of at most `most` bytes.

    Raises
    ------
    InputError
        When there is none, it is a folder, a device, or a pipe (which would be waited for), or it is larger.
    """
    real = real_path(path)
    try:
        if not stat.S_ISREG(os.stat(real).st_mode) and not os.path.isdir(real):
            raise InputError("it is no regular file")
        with open(real, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None
    if len(data) > most:
        raise InputError(f"it is larger than {most} bytes, which no such file is")
    return data
