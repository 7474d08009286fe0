"""`modes`: natural modes around a state."""

from .linearize import linearize


def modes(system, state=None, t=None, *, controls=None):
    """Natural modes around a state: those of `linearize(system, state, t, controls=controls)`.

    Returns
    -------
    Modes
        A sequence that prints as a table.

    Raises
    ------
    InputError
        As `linearize`.
    """
    return linearize(system, state, t, inputs=(), controls=controls).modes()
