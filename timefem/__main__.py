"""The command line: `timefem`, or `python -m timefem`."""

import signal
import sys


def main():
    """Run the command line; one that is interrupted while it is being imported ends silently."""
    python = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # and not ignored
    if python:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main
    if python:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(main())
