"""The process of a command: its ranks, its end, and modules that are imported when they are called."""

import ctypes
import importlib
import importlib.util
import os
import signal
import sys
import warnings
from contextlib import contextmanager

import typer
from typer.core import TyperGroup

from .. import interrupts
from .. import parallel as communicator
from ..display import printable
from ..errors import InputError, SolveError
from ..interrupts import SIGNALS
from ..memory import uncollected


def world():
    return communicator.world() if communicator.launched_ranks() > 1 else None


def rank():
    """Rank of this process; from the launcher's word, which needs no mpi4py."""
    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
    return next((int(os.environ[n]) for n in names if os.environ.get(n, "").isdigit()), 0)


def meet(comm, status, patience=None):
    """Wait until all ranks have failed alike; when they have not, end them, since they may wait for this one."""
    if not communicator.all_come(comm.Ibarrier(), patience):
        comm.Abort(status)


def note(text):
    if rank() == 0:
        print("timefem: note:", text, file=sys.stderr, flush=True)


@contextmanager
def plain_warnings():
    """Warnings on lines like those of errors: a command has no line of its own that they could point at."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_: f"timefem: warning: {printable(' '.join(str(message).split()))}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


# ---- The end of a process whose compiled code does not return: machine code, since Python does not run meanwhile

SECONDS = 2
# `ask` starts an alarm and passes the signal on to Python; `leave`, at the alarm, ends the process
CODE = f"""
@last = global i32 0
@next = global [65 x ptr] zeroinitializer
declare i32 @alarm(i32)
declare void @_exit(i32)
define void @ask(i32 %number) {{
  %earlier = load i32, ptr @last
  %second = icmp ne i32 %earlier, 0
  br i1 %second, label %pass, label %first
first:
  store i32 %number, ptr @last
  %unused = call i32 @alarm(i32 {SECONDS})
  br label %pass
pass:
  %place = getelementptr [65 x ptr], ptr @next, i32 0, i32 %number
  %handler = load ptr, ptr %place
  call void %handler(i32 %number)
  ret void
}}
define void @leave(i32 %number) {{
  %last = load i32, ptr @last
  %status = add i32 %last, 128
  call void @_exit(i32 %status)
  unreachable
}}
"""


class Guard:
    """Ends the process with 128 + the signal when it has not stopped `SECONDS` after it; None without LLVM or POSIX."""

    def __init__(self, engine):
        self.engine, self.before = engine, signal.getsignal(signal.SIGALRM)
        self.libc = ctypes.CDLL(None)
        self.libc.signal.restype, self.libc.signal.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
        following = (ctypes.c_void_p * 65).from_address(engine.get_global_value_address("next"))
        self.last = ctypes.c_int32.from_address(engine.get_global_value_address("last"))
        self.libc.signal(signal.SIGALRM, engine.get_function_address("leave"))
        for number in SIGNALS:
            following[number] = self.libc.signal(number, engine.get_function_address("ask"))

    @classmethod
    def make(cls):
        if importlib.util.find_spec("llvmlite") is None or not hasattr(signal, "alarm"):
            return None
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        module = binding.parse_assembly(CODE)
        engine = binding.create_mcjit_compiler(module, binding.Target.from_default_triple().create_target_machine())
        engine.finalize_object()
        return cls(engine)

    def rest(self):
        signal.alarm(0)
        self.last.value = 0

    def remove(self):
        self.rest()
        signal.signal(signal.SIGALRM, self.before if self.before is not None else signal.SIG_DFL)


# ---- Commands whose modules are imported when they are called: help, versions and bad input need no heavy package

COMMANDS = {  # name -> (module, function or group in it, what it does)
    "list": ("viewing", "list_command", "List cases, elements, drivers and linear solvers."),
    "run": ("options", "run", "Solve a case, or a model file."),
    "estimate": ("options", "estimate", "Estimate a motion from measurements."),
    "check": ("model_files", "check", "Describe what a model file states."),
    "schema": ("model_files", "schema", "Print the JSON schema of model files."),
    "sweep": ("options", "sweep", "Solve for many values of numbers."),
    "solve-all": ("options", "solve_all", "Several solutions of a boundary-value problem."),
    "sensitivity": ("options", "sensitivity", "Derivatives of functionals of a motion."),
    "modes": ("options", "modes", "Natural modes around a state."),
    "linearize": ("options", "linearize", "Linear equations around a state."),
    "study": ("studies", "study", "Studies of methods."),
    "reproduce": ("studies", "reproduce", "Reproduce figures of the papers."),
    "verify": ("studies", "verify", "Solve motions that others have solved, and compare."),
    "gallery": ("studies", "gallery", "Machines with a number and a picture each: list or run them."),
    "plot": ("viewing", "plot", "Draw a saved solution, or write its motion."),
    "info": ("viewing", "info", "Versions, processors, and what is installed."),
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
            # also what was looked for in a motion that a signal cut short
            if interrupts.raised() or (interrupts.asked() and isinstance(error, InputError | SolveError)):
                raise Stopped(128 + interrupts.asked()) from error
            raise

    def format_commands(self, ctx, formatter):
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])
