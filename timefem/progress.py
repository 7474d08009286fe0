"""Progress of whatever takes over two seconds: a bar on a terminal, and a line every ten seconds in a file."""

import os
import sys
import threading
import time
from math import log

from .errors import InputError
from .memory import Late

# imported when the first bar is drawn: most solves are over before
console, bars = Late("rich.console"), Late("rich.progress")

DELAY = 2.0  # seconds until a bar is drawn
EVERY = 10.0  # seconds from line to line, where standard error is not a terminal
LOOK = 1.0  # seconds between looks at work that tells nothing for a while
RANK = "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"  # of a process, by its launcher

_open = []  # bars that are shown, from the outermost on
_asked = [None]  # what solves around this one were asked to show
_watch = [None]  # the thread that looks at them
_last = [-EVERY, -EVERY]  # when the last line was written, and when the last outermost bar ended


class _Silent:
    """A bar that nobody sees."""

    bar, done = None, 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def advance(self, n=1):
        self.done += n

    def note(self, text):
        pass

    def iteration(self, iteration, norm=None, x=None):
        self.done = iteration

    def step(self, norm=None):
        self.done += 1


class _Bar:
    outer = bar = before = None
    done, counted, text = 0, False, ""
    first = best = None  # residuals: at the start, and the least so far

    def __init__(self, title, total, goal, around, asked):
        self.title, self.total, self.goal, self.around = title, total, goal, around
        self.lines = not asked and not sys.stderr.isatty()  # one that was asked for may be drawn in a notebook

    def __enter__(self):
        self.start = time.monotonic()
        for other in _open:
            if self.outer is None and not other.around:
                self.outer, self.before = other, other.text
            other.hide()
        if self.outer is None and self.start - _last[1] > LOOK:  # not one of several that follow each other
            _last[0] = self.start
        _open.append(self)
        if _watch[0] is None or not _watch[0].is_alive():
            _watch[0] = threading.Thread(target=_look_at_bars, daemon=True, name="timefem progress")
            _watch[0].start()
        return self

    def __exit__(self, *exception):
        _open.remove(self)
        if self.outer is not None:
            self.outer.text = self.before
        else:
            _last[1] = time.monotonic()
        self.hide(True)

    def advance(self, n=1):
        """Count `n` more of the total."""
        self.done, self.counted = self.done + n, True
        self._draw(self.text)

    def note(self, text):
        """Show a text beside the title."""
        self._draw(text)

    def iteration(self, iteration, norm=None, x=None):
        """An iterative method is at an iteration, with this residual; to be its `on_iteration`."""
        self.done = iteration
        if norm is not None and norm > 0:
            self.first = norm if self.first is None else self.first
            self.best = norm if self.best is None else min(self.best, norm)
        self._draw("" if norm is None else f"residual {norm:.1e}")

    def step(self, norm=None):
        """An iterative method is at its next iteration."""
        self.iteration(self.done + 1, norm)

    def look(self):
        """Show what was reported last again, as time goes by."""
        if self.lines or self.bar is None:
            self._draw(self.text)

    def hide(self, ended=False):
        """Take the bar off a terminal at the end, and one around others while these are drawn."""
        if self.bar is not None and (ended or self.around):
            self.bar.stop()
            self.bar = None

    def _draw(self, text=""):
        self.text = text
        if self.outer is not None:
            return self.outer.note(", ".join(filter(None, (self.title, self._done(), text, self._left()))))
        now = time.monotonic()
        if self.lines:
            if now - _last[0] >= EVERY:
                _last[0] = now
                facts = self.title, self._done(), text, f"{now - self.start:.0f} s", self._left()
                print(f"timefem: {', '.join(filter(None, facts))}", file=sys.stderr, flush=True)
            return
        if now - self.start < DELAY:
            return
        if self.bar is None:
            screen = console.Console(stderr=True)
            if not _draws(screen):
                self.lines = True
                return self._draw(text)
            self.bar = bars.Progress(console=screen, transient=True)
            self.task = self.bar.add_task(self.title, total=self.total)
            self.bar.start()
        self.bar.update(self.task, completed=self.done, total=self.total,
                        description=", ".join(filter(None, (self.title, text))))

    def _done(self):
        if self.counted and self.total:
            return f"{self.done:.10g} of {self.total:.10g}"
        return f"iteration {self.done}" if self.done else ""

    def _left(self):
        """What is left: by the count, or by how fast the residual falls, or what all iterations would take."""
        seconds = time.monotonic() - self.start
        if seconds < DELAY or not self.done:
            return ""
        if self.counted:
            return f"about {seconds * (self.total / self.done - 1):.0f} s left" if self.total else ""
        if self.goal and self.best and self.goal < self.best < self.first:
            return f"about {seconds * log(self.best / self.goal) / log(self.first / self.best):.0f} s left"
        return f"at most {seconds * (self.total / self.done - 1):.0f} s left" if self.total else ""


def _belong_to_parent():
    """What a process forks while it shows a bar works for that one, and shows none."""
    if _open:
        _open.clear()
        _asked[:] = [False]


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_belong_to_parent)


def _draws(screen):
    """Whether a bar can move there: in files and pipes it would show at the end alone."""
    return screen.is_terminal or screen.is_jupyter


def _look_at_bars():
    while True:
        time.sleep(LOOK)
        if bar := next(iter(_open[::-1]), None):
            bar.look()


def progress(title, total=None, show=None, goal=None, around=False):
    """Context with `advance(n)`, `note(text)` and `iteration(iteration, norm)`.

    `show=None` means as the solve around it was asked, and if that was not asked, on one rank of all. Of bars inside of
    each other the outermost is drawn, and notes what the others tell. `goal` is the residual at which iterations end.
    A bar `around` others is drawn where none of them is open.
    """
    show = _asked[-1] if show is None else _checked(show)
    if show or (show is None and all(os.environ.get(name, "0") == "0" for name in RANK)):
        return _Bar(title, total, goal, around, show is not None)
    return _Silent()


def _checked(show):
    if show is not None and type(show).__name__ not in ("bool", "bool_"):  # NumPy's, too
        raise InputError(f"progress must be True, False or None, not {show!r}")
    return show


class showing:
    """Context of work in which progress is shown, or not, where nothing else is said; None: as around it."""

    def __init__(self, show, title="solve"):
        self.show, self.title = _checked(show), title

    def __enter__(self):
        _asked.append(_asked[-1] if self.show is None else self.show)
        self.bar = progress(self.title, around=True)
        self.bar.__enter__()

    def __exit__(self, *exception):
        self.bar.__exit__(*exception)
        _asked.pop()


def counted(title, items):
    """The items one after the other, with their progress."""
    with progress(title, len(items)) as bar:
        for item in items:
            yield item
            bar.advance()
