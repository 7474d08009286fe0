"""Text files of numbers, with the numbers of their lines."""

import numpy as np

from ...errors import InputError
from ..document import read_file


def lines_of(path):
    """Lines of a text file without their ends.

    Raises
    ------
    InputError
    """
    try:
        data = read_file(path, 10**9)
    except InputError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return data.decode("latin-1").splitlines()


def number(path, line, text, empty=False):
    """A number in a line; NaN of an empty field where these are allowed."""
    text = text.strip()
    if empty and not text:
        return np.nan
    try:
        return float(text)
    except ValueError:
        point = "; write a decimal point" if text.count(",") == 1 else ""
        raise InputError(f"{path}, line {line}: {text!r} is not a number{point}") from None
