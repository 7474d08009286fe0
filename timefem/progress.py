"""A progress bar for whatever takes over two seconds; silent when standard error is not a terminal."""

import sys
import time
from contextlib import contextmanager

DELAY = 2.0


class _Bar:
    def __init__(self, title, total, show):
        self.title, self.total, self.done, self.show = title, total, 0, show
        self.start, self.bar = time.monotonic(), None

    def advance(self, n=1):
        """Count `n` more of the total."""
        self.done += n
        self._draw()

    def note(self, text):
        """Show a text beside the title."""
        self._draw(text)

    def _draw(self, text=""):
        if not self.show or time.monotonic() - self.start < DELAY:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(self.title, total=self.total)
            self.bar.start()
        self.bar.update(self.task, completed=self.done, description=f"{self.title} {text}")


@contextmanager
def progress(title, total=None, show=None):
    """Context with `advance(n)` and `note(text)`; `show=None` means when standard error is a terminal."""
    bar = _Bar(title, total, sys.stderr.isatty() if show is None else show)
    try:
        yield bar
    finally:
        if bar.bar is not None:
            bar.bar.stop()
