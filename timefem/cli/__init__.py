"""The command `timefem`. Exit status 1: a solve failed; 2: input that cannot be used."""

import sys
import traceback
from typing import Annotated

import typer

from ..display import printable
from ..errors import InputError, MissingBackend, RankError, SolveError, WriteError
from ..interrupts import Interrupted, stoppable
from ..parallel import PATIENCE
from ..version import __version__
from .guard import Guard
from .listing import info, list_command
from .model_files import check, schema
from .plot import plot
from .ranks import meet, rank, world
from .report import in_options
from .reproduce import reproduce
from .run import PETSC_PREFIX, run
from .sensitivity import repeat_values, sensitivity
from .several import solve_all
from .studies import repeat_options, study

UsageError = typer.BadParameter.__bases__[0]  # of click, which newer typer carries inside and older ones import

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Sparse finite elements in time for mechanics.")


def main(argv=None):
    """Run a command line and return the exit status; `argv` is without the program's name."""
    comm, patience = None, PATIENCE
    try:
        arguments, petsc_options = split_petsc_options(sys.argv[1:] if argv is None else argv)
        if arguments[:1] == ["study"]:
            arguments = repeat_options(arguments)
        if arguments[:1] == ["sensitivity"]:
            arguments = repeat_values(arguments)
        comm = world()
        command = typer.main.get_command(app)
        with stoppable(Guard.make):
            return command.main(arguments, prog_name="timefem", standalone_mode=False, obj=petsc_options) or 0
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
    except (typer.Abort, KeyboardInterrupt) as error:
        found = next((e for e in (error, error.__cause__, error.__context__) if isinstance(e, Interrupted)), None)
        status, message, patience = getattr(found, "status", 130), "interrupted", 0.3
    except Exception:
        if comm is None:
            raise
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)  # the other ranks would wait for this one for ever
    if rank() == 0 and message:
        print("timefem: error:", printable(in_options(" ".join(message.split()))), file=sys.stderr, flush=True)
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
    if ctx.obj and ctx.invoked_subcommand != "run":
        raise InputError(f"{PETSC_PREFIX}{next(iter(ctx.obj))} belongs to `timefem run`")
    if version:
        print(f"timefem {__version__}")
        raise typer.Exit()
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


app.command("list")(list_command)
app.command()(run)
app.command()(check)
app.command()(schema)
app.command("solve-all")(solve_all)
app.command()(sensitivity)
app.add_typer(study, name="study")
app.command()(reproduce)
app.command()(plot)
app.command()(info)
