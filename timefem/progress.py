"""Progress of whatever takes over two seconds: a bar on a terminal, and a line every ten seconds in a file."""

import os
import sys
import time
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

DELAY = 2.0  # seconds until a bar is drawn
EVERY = 10.0  # seconds from line to line, where standard error is no terminal
RANK = "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"  # of a process, by its launcher

_open = []  # bars, from the outermost on
_asked = [None]  # what solves around this one were asked to show


class _Bar:
    def __init__(self, title, total, show, outer):
        self.title, self.total, self.done, self.outer = title, total, 0, outer
        self.show = all(os.environ.get(name, "0") == "0" for name in RANK) if show is None else show
        self.lines = show is None and not sys.stderr.isatty()  # a bar that was asked for is drawn anywhere
        self.start, self.bar, self.counted = time.monotonic(), None, False
        self.told = self.start

    def advance(self, n=1):
        """Count `n` more of the total."""
        self.done, self.counted = self.done + n, True
        self._draw()

    def note(self, text):
        """Show a text beside the title."""
        self._draw(text)

    def iteration(self, iteration, norm, x=None):
        """Newton's method is at an iteration; to be its `on_iteration`."""
        self.done = iteration
        self._draw(f"residual {norm:.1e}")

    def _draw(self, text=""):
        if not self.show:
            return
        if self.outer is not None:
            return self.outer.note(f"{self.title} {text}")
        now = time.monotonic()
        if self.lines:
            if now - self.told >= EVERY:
                self.told = now
                print(self._line(text, now - self.start), file=sys.stderr, flush=True)
            return
        if now - self.start < DELAY:
            return
        if self.bar is None:
            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(self.title, total=self.total)
            self.bar.start()
        self.bar.update(self.task, completed=self.done, description=f"{self.title} {text}")

    def _line(self, text, seconds):
        line = f"timefem: {self.title}"
        if self.counted and self.total:
            line += f", {self.done:g} of {self.total:g}"
        elif self.done:
            line += f", iteration {self.done}"
        line += f", {text}" if text else ""
        line += f", {seconds:.0f} s"
        if self.counted and self.total and 0 < self.done < self.total:
            line += f", about {seconds * (self.total / self.done - 1):.0f} s left"
        return line


@contextmanager
def progress(title, total=None, show=None):
    """Context with `advance(n)`, `note(text)` and `iteration(iteration, norm)`.

    `show=None` means as the solve around it was asked, and if that was not asked, on one rank of all. Of bars inside of
    each other the outermost is drawn, and notes what the others tell.
    """
    show = _asked[-1] if show is None else show
    bar = _Bar(title, total, show, next((b for b in _open if b.show), None))
    _open.append(bar)
    try:
        yield bar
    finally:
        _open.remove(bar)
        if bar.bar is not None:
            bar.bar.stop()


@contextmanager
def showing(show):
    """Context in which progress is shown, or not, where nothing else is said; None: as around it."""
    _asked.append(_asked[-1] if show is None else show)
    try:
        yield
    finally:
        _asked.pop()


def counted(title, items):
    """The items one after the other, with their progress."""
    with progress(title, len(items)) as bar:
        for item in items:
            yield item
            bar.advance()
