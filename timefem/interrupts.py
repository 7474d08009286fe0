"""SIGINT and SIGTERM: what runs stops soon, keeps what it has, and the process ends with 130 or 143.

Inside of `stoppable` the first signal is a question, `asked`, which loops over elements and iterations answer by
stopping in good order. What has not answered after `GRACE` seconds, and what gets a second signal, is interrupted where
it is by `Interrupted`.
"""

import signal
import threading
from contextlib import contextmanager
from functools import partial

GRACE = 1.0  # seconds
SIGNALS = signal.SIGINT, signal.SIGTERM


class Interrupted(KeyboardInterrupt):
    """A signal that asks to stop; `status` is what the process is to end with."""

    def __init__(self, number):
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.status = 128 + number


class _Question:
    """The signal that came, if one did, and what happens when nobody answers."""

    def __init__(self, guard):
        self.number, self.answered, self.raised, self.guard = None, False, False, guard
        self.timer = None

    def ask(self, number, _):
        if self.number is not None:
            self.settle()
            self.raised = True
            raise Interrupted(self.number)
        self.number = number
        main = threading.main_thread().ident  # a signal to it also ends what it waits for, except on Windows
        again = partial(signal.pthread_kill, main) if hasattr(signal, "pthread_kill") else signal.raise_signal
        self.timer = threading.Timer(GRACE, again, [number])
        self.timer.daemon = True
        self.timer.start()

    def settle(self):
        """The stop is under way: nothing interrupts it but another signal."""
        self.answered = True
        if self.timer is not None:
            self.timer.cancel()
        if self.guard is not None:
            self.guard.rest()


_question = None


def active():
    """Whether signals are questions."""
    return _question is not None


def asked():
    """Number of the signal that asks to stop, or None."""
    return None if _question is None else _question.number


def raised():
    """Whether `Interrupted` was raised: compiled code that calls Python may turn it into another error."""
    return _question is not None and _question.raised


def answer():
    """Say that the work stops now, in good order: it may take the time to write what it has."""
    if _question is not None:
        _question.settle()


@contextmanager
def stoppable(make_guard=None):
    """Context in which signals are questions; one inside of another, or in another thread, changes nothing.

    A signal that nobody has answered at the end is delivered again, to whoever handles it outside.

    Parameters
    ----------
    make_guard : callable, optional
        Gives, when the handlers are in place, an object with `rest()`, for a stop that is under way, and `remove()`.
    """
    global _question
    if _question is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _question = question = _Question(None)
    before = {number: signal.signal(number, question.ask) for number in SIGNALS}
    question.guard = make_guard() if make_guard is not None else None
    try:
        yield
    finally:
        unanswered = question.number is not None and not question.answered
        question.settle()
        if question.guard is not None:
            question.guard.remove()
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        _question = None
        if unanswered:
            signal.raise_signal(question.number)
