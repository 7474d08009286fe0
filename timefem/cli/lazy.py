"""Commands whose modules are imported when they are called: help, versions and bad input need no heavy package."""

import importlib

import typer
from typer.core import TyperGroup

from .. import interrupts
from ..uncollected import uncollected

COMMANDS = {  # name -> (module, function or group in it, what it does)
    "list": ("listing", "list_command", "What there is: cases, elements, drivers, linear solvers."),
    "run": ("run_options", "run", "Solve a case, or a model file."),
    "estimate": ("run_options", "estimate", "Estimate a motion from measurements."),
    "check": ("model_files", "check", "Tell what a model file states."),
    "schema": ("model_files", "schema", "Print the JSON schema of model files."),
    "sweep": ("run_options", "sweep", "Solve for many values of numbers."),
    "solve-all": ("run_options", "solve_all", "Several solutions of a boundary-value problem."),
    "sensitivity": ("run_options", "sensitivity", "Derivatives of functionals of a motion."),
    "modes": ("run_options", "modes", "Natural modes around a state."),
    "linearize": ("run_options", "linearize", "Linear equations around a state."),
    "study": ("studies", "study", "Studies of methods."),
    "reproduce": ("reproduce", "reproduce", "Reproduce figures of the papers."),
    "verify": ("verify", "verify", "Solve motions that others have solved, and compare."),
    "gallery": ("gallery", "gallery", "Machines with a number and a picture each: list or run them."),
    "plot": ("plot", "plot", "Draw a saved solution, or write its motion."),
    "info": ("listing", "info", "Versions, processors, and what is installed."),
    "prepare": ("compiled", "prepare", "Compile the loops ahead, for all later runs."),
    "cache": ("compiled", "cache", "Compiled code kept on disk: how much, where; remove it."),
}


class Stopped(Exception):
    """A command was interrupted; `status` is what the process is to end with."""

    def __init__(self, status):
        super().__init__("interrupted")
        self.status = status


def imported(module):
    """A module of this folder."""
    with uncollected():
        return importlib.import_module(f".{module}", __package__)


class LazyCommands(TyperGroup):
    """The commands of `COMMANDS`."""

    def list_commands(self, ctx):
        return list(COMMANDS)

    def get_command(self, ctx, cmd_name):
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        found = getattr(imported(module), name)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False, rich_markup_mode=None)
            found.command(cmd_name)(function)
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # of which typer tells less
            raise Stopped(getattr(error, "status", 130)) from error
        except Exception as error:
            if interrupts.raised():
                raise Stopped(128 + interrupts.asked()) from error
            raise

    def format_commands(self, ctx, formatter):
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])
