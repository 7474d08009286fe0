"""A progress bar for whatever takes over two seconds; silent when standard error is not a terminal."""

import sys
import time
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

DELAY = 2.0


_open = []  # bars, from the outermost on


class _Bar:
    def __init__(self, title, total, show, outer):
        self.title, self.total, self.done, self.show, self.outer = title, total, 0, show, outer
        self.start, self.bar = time.monotonic(), None

    def advance(self, n=1):
        """Count `n` more of the total."""
        self.done += n
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
        if time.monotonic() - self.start < DELAY:
            return
        if self.bar is None:
            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(self.title, total=self.total)
            self.bar.start()
        self.bar.update(self.task, completed=self.done, description=f"{self.title} {text}")


@contextmanager
def progress(title, total=None, show=None):
    """Context with `advance(n)`, `note(text)` and `iteration(iteration, norm)`.

    `show=None` means when standard error is a terminal. Of bars inside of each other the outermost is drawn, and notes
    what the others tell.
    """
    bar = _Bar(title, total, sys.stderr.isatty() if show is None else show, next((b for b in _open if b.show), None))
    _open.append(bar)
    try:
        yield bar
    finally:
        _open.remove(bar)
        if bar.bar is not None:
            bar.bar.stop()
