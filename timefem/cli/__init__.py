"""The command `timefem`. Exit status 1: a solve failed; 2: input that cannot be used."""

import sys
import traceback
from typing import Annotated

import typer

from ..display import printable
from ..errors import InputError, MissingBackend, RankError, SolveError, WriteError
from ..interrupts import stoppable
from ..validate.options import spelt_as
from ..version import __version__
from .process import Guard, LazyCommands, Stopped, imported, meet, plain_warnings, rank, world
from .report import UNWRITTEN, give_up_stdout

PETSC_PREFIX = "-timefem_"
SEVERAL_VALUES = {"study": ("studies", "repeat_options"), "sensitivity": ("options", "repeat_values"),
                  "linearize": ("options", "repeat_values")}
UsageError = typer.BadParameter.__bases__[0]  # of click, which newer typer carries inside and older ones import

app = typer.Typer(cls=LazyCommands, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Sparse finite elements in time for mechanics.")


def main(argv=None):
    """Run a command line and return the exit status; `argv` is without the program's name."""
    with spelt_as("options"):
        return _main(argv)


def _main(argv):
    comm = patience = None
    try:
        arguments, petsc_options = split_petsc_options(sys.argv[1:] if argv is None else argv)
        module, function = SEVERAL_VALUES.get("".join(arguments[:1]), (None, None))
        if module is not None:
            arguments = getattr(imported(module), function)(arguments)
        comm = world()
        command = typer.main.get_command(app)
        with stoppable(Guard.make), plain_warnings():
            status = command.main(arguments, prog_name="timefem", standalone_mode=False, obj=petsc_options) or 0
        sys.stdout.flush()  # fails here, and not at the end of the process
        return status
    except (InputError, MissingBackend, UsageError) as error:
        status, message = 2, error.format_message() if isinstance(error, UsageError) else str(error)
    except SolveError as error:
        status, message = 1, str(error)
    except WriteError as error:
        status, message = 1, str(error)
    except RankError as error:
        status, message = 1, str(error)
        if rank() == 0:
            print("timefem: error:", message, file=sys.stderr, flush=True)
            message = ""
    except (Stopped, typer.Abort, KeyboardInterrupt) as error:
        status, message, patience = getattr(error, "status", 130), "interrupted", 0.3
    except Exception as error:
        if not (isinstance(error, OSError) and error.errno in UNWRITTEN):
            if comm is None:
                raise
            traceback.print_exc()
            sys.stderr.flush()
            comm.Abort(1)  # the other ranks would wait for this one for ever
        status, message = 1, f"could not write {error.filename or 'to standard output'}: {error.strerror}"
        give_up_stdout()
    if rank() == 0 and message:
        print("timefem: error:", printable(" ".join(message.split())), file=sys.stderr, flush=True)
    if comm is not None:
        meet(comm, status, patience)
    return status


def split_petsc_options(arguments):
    """Split a command line into the other arguments and the PETSc options in it.

    `-timefem_ksp_type gmres` becomes {"ksp_type": "gmres"}, and `-timefem_ksp_view`, with no value after it,
    {"ksp_view": None}. As with PETSc, what follows and does not look like an option is the value.
    """
    others, options, rest = [], {}, list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument.startswith(PETSC_PREFIX):
            value = rest.pop(0) if rest and (not rest[0].startswith("-") or _is_number(rest[0])) else None
            options[argument.removeprefix(PETSC_PREFIX)] = value
        else:
            others.append(argument)
    return others, options


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@app.callback(invoke_without_command=True)
def _timefem(ctx: typer.Context,
             version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False):
    if ctx.obj and ctx.invoked_subcommand not in ("run", "study"):
        raise InputError(f"{PETSC_PREFIX}{next(iter(ctx.obj))} belongs to `timefem run` and "
                         "`timefem study conditioning`")
    if version:
        print(f"timefem {__version__}")
        raise typer.Exit()
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
