"""The options of a solve, each declared once: name, type, unit, default, limits, what it means, and whose it is.

The dataclasses of elements, drivers, linear solvers and Newton's method take their fields from here (`field`,
`check_fields`), the command line its options, and model files the schema of their table `[solver]`. Nothing here needs
more than NumPy.
"""

from __future__ import annotations

import dataclasses
import math
import re
import textwrap
from collections import ChainMap
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from .. import validate
from ..errors import InputError, NamedArguments
from ..memory import LateTable
from ..records import Documentation, frozen
from . import integer, real

# ---- names that options choose from, and where each is defined. Another one is a file in that folder and an entry her

FORMS = LateTable("timefem.elements", {  # of the equations of motion
    "hamilton": ".forms.HamiltonForm", "lagrange": ".forms.LagrangeForm", "impulse": ".forms.ImpulseForm",
    "energy": ".forms.EnergyForm"})

BUBNOV_FORMS = "hamilton", "impulse"  # those of `BubnovGalerkin`

METHODS = LateTable("timefem.solvers", {  # of optimal control with inequalities
    "interior-point": ".interior_point.algorithm.InteriorPoint", "ipopt": ".nonlinear.ipopt.Ipopt",
    "fatrop": ".nonlinear.fatrop.Fatrop"})

LINEAR_SOLVERS = LateTable("timefem.solvers.linear", {  # options; each says what packages it needs, how to install them
    "chain": ".time_chain.solver.TimeChain", "superlu": ".base.SuperLU", "petsc": ".petsc.PETSc",
    "sksparse": ".base.Cholmod"})

KRYLOV = {"ksp_type": "gmres", "ksp_rtol": 1e-10, "ksp_gmres_restart": 200, "ksp_max_it": 1000, "ksp_pc_side": "right"}
PETSC_METHODS = {  # names for options of PETSc
    "mumps": {"pc_type": "lu", "pc_factor_mat_solver_type": "mumps"},
    "substructuring": {"pc_type": "python"},
    "block-jacobi": KRYLOV | {"pc_type": "fieldsplit", "pc_fieldsplit_sets": "slabs", "pc_fieldsplit_type": "additive"},
    "gauss-seidel": KRYLOV | {"pc_type": "fieldsplit", "pc_fieldsplit_sets": "slabs",
                              "pc_fieldsplit_type": "multiplicative"},
    # with less overlap the pieces of BG(2) and BG(3) may be singular
    "schwarz": KRYLOV | {"pc_type": "asm", "pc_asm_sets": "slabs", "pc_asm_overlap": 4},
    "schur": KRYLOV | {"pc_type": "fieldsplit", "pc_fieldsplit_sets": "states", "pc_fieldsplit_type": "schur"}}
SHORTHANDS = {"chain": "substructuring"}  # of them


@frozen
class Option:
    """One option.

    Attributes
    ----------
    name : str
        Field of the object, and key in a model file.
    type : {int, float, bool, str}
    help : str
        One line.
    of : tuple of str
        What has it: elements, drivers, linear solvers, or "solve".
    default : optional
        None: none, or left to what has it.
    least, most : int, optional
    choices : collection of str
        All that it may be.
    words : tuple of str
        That it may be besides a number.
    flag : str
        On the command line; "" as the name.
    positive : bool
    unit : str
    in_files : bool
        Whether the table `[solver]` of model files has it.
    several : bool
        Whether it may be a list of such, "16,8" on the command line.
    """

    name: str
    type: Any
    help: str
    of: tuple = ()
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple = ()
    words: tuple = ()
    flag: str = ""
    positive: bool = False
    unit: str = ""
    in_files: bool = True
    several: bool = False

    def check(self, value):
        """The value; InputError, with the name of the option, for one that cannot be."""
        name = self.name
        if self.several and isinstance(value, list):
            return [self.check(one) for one in value]
        if isinstance(value, str) and value in self.words:
            return value
        if self.choices:
            return validate.choice(name, value, self.choices)
        if self.type is bool:
            return validate.flag(name, value)
        if self.type is int:
            value = validate.integer(name, value, minimum=self.least or 0)
            if self.most is not None and value > self.most:
                raise InputError(f"{name} must be at most {self.most}, not {value}")
            return value
        return validate.real(name, value, positive=self.positive, largest=math.inf) if self.type is float else value

    def parse(self, text):
        """The value of a text on the command line."""
        if not isinstance(text, str) or self.type is str:
            return text
        if text in self.words:
            return text
        try:
            if self.several and "," in text:
                return [self.type(one) for one in text.split(",")]
            return self.type(text)
        except ValueError:
            raise InputError(f"{self.option} must be {self.described}, not {text!r}") from None

    @property
    def option(self):
        """As it is written on the command line."""
        return f"--{(self.flag or self.name).replace('_', '-')}"

    @property
    def argument(self):
        """Its name among the parameters of a command."""
        return (self.flag or self.name).replace("-", "_")

    @property
    def described(self):
        what = {int: "an integer", float: "a number", bool: "true or false"}.get(self.type, "a text")
        if self.least is not None and self.most is not None:
            what += f" from {self.least} to {self.most}"
        return " or ".join((what, *self.words, *["a list of such, as in 16,8"] * self.several))

    @property
    def schema(self):
        """JSON schema of its values."""
        if self.choices:
            return {"enum": list(self.choices)}
        if self.type is bool:
            return {"$ref": "#/$defs/flag"}
        if self.type is float:
            return {"$ref": "#/$defs/positive" if self.positive else "#/$defs/number"}
        if self.least == 1 and self.most is None:
            return {"$ref": "#/$defs/count"}
        return {"description": self.described, "type": "integer", "minimum": self.least, "maximum": self.most}


def listed(names):
    """Names of which the first is the default, in words."""
    first, *others, last = names
    return f"{', '.join((f'{first} (default)', *others))} or {last}"


GALERKIN = "mg", "bg"
OPTIONS = {option.name: option for option in (
    # of time elements
    Option("degree", int, "Polynomial degree; default 2 for mg, 3 for bg.", GALERKIN, least=1, most=12),
    Option("n_points", int, "Gauss points; default twice the degree.", GALERKIN, least=1, most=40, flag="points"),
    Option("multipliers", str, "bg: discontinuous (default) or continuous.", ("bg",), "discontinuous",
           choices=("discontinuous", "continuous")),
    Option("drop", str, "bg: tests left out at the start (default) or the end.", ("bg",), "start",
           choices=("start", "end")),
    Option("nodes", str, "mg, bg: equidistant (default) or lobatto.", GALERKIN, "equidistant",
           choices=("equidistant", "lobatto")),
    Option("form", str, f"mg: of the equations of motion: {listed(FORMS)}; bg: {listed(BUBNOV_FORMS)}.", GALERKIN,
           "hamilton", choices=FORMS),
    Option("keep", str, "mg: what the Gauss points keep (default), or all: energy, momenta and constraints, with "
           "lifted gradients.", ("mg",), "points", choices=("points", "all")),
    # of a solve
    Option("n_elements", int, "Default: that of the case; 16,8 of two phases.", ("solve",), least=1, in_files=False,
           several=True),
    Option("tolerance", float, "Largest relative error at the nodes; the mesh is found on the way, instead of "
           "--n-elements.", ("march", "global"), positive=True),
    Option("driver", str, "march, windows or global; default: march for mg, global for bg, windows with --window.",
           ("solve",), choices=("march", "windows", "global")),
    Option("guess", str, "march (default) or constant; windows and global. Boundary values: interpolation or march.",
           ("windows", "global"), choices=("march", "constant", "interpolation")),
    # of drivers
    Option("window", int, "Elements per window; default 10. auto: from memory and convergence.", ("windows",), 10,
           least=1, words=("auto",)),
    Option("scaling", str, "full, weights, reference or none.", ("march", "windows", "global"), "full",
           choices=("full", "weights", "reference", "none")),
    Option("keep_mesh", bool, "march: fail where Newton's method fails, instead of halving the element.", ("march",),
           False),
    Option("backend", str, f"{', '.join(LINEAR_SOLVERS)}; default: chain.", ("windows", "global"),
           choices=LINEAR_SOLVERS),
    Option("method", str, "With --backend petsc: mumps (default), chain, which is time-chain substructuring, or "
           "block-jacobi, gauss-seidel, schwarz, schur with GMRES. Optimal control with inequalities: "
           f"{listed(METHODS)}.", ("windows", "global"),
           choices=ChainMap(METHODS, SHORTHANDS, PETSC_METHODS)),
    # of Newton's method
    Option("tol_residual", float, "Of Newton's method, scaled; default 1e-13.", ("Newton",), 1e-13, positive=True),
    Option("tol_increment", float, "Of Newton's method, scaled; default 1e-8.", ("Newton",), 1e-8, positive=True),
    Option("max_iterations", int, "Of Newton's method; default 25.", ("Newton",), 25, least=1),
    Option("line_search", bool, "Halve steps until the residual falls; always done but for initial values.",
           ("Newton",), False),
    # of checkpoints
    Option("checkpoint", str, "File that is written now and then, to go on from.", ("checkpoint",), in_files=False),
    Option("checkpoint_every", str, "Seconds or iterations between checkpoints; default 60s.", ("checkpoint",),
           in_files=False),
    Option("restart", str, "Checkpoint to go on from, of the same solve.", ("checkpoint",), in_files=False),
)}


def field(name, **default):
    """Field of a dataclass for a declared option; `default=...` where it is another, or none where it is needed."""
    option = OPTIONS[name]
    if not default and option.default is not None:
        default = {"default": option.default}
    return dataclasses.field(**default, metadata={"option": option})


def check_fields(made):
    """Check the fields of a dataclass that are declared options."""
    for f in dataclasses.fields(made):
        value = getattr(made, f.name)
        if "option" in f.metadata and not (value is None and f.default is None):
            f.metadata["option"].check(value)


def names(what):
    """Names of the declared options of a dataclass."""
    return tuple(f.name for f in dataclasses.fields(what) if "option" in f.metadata)


# ---- how options are spelt in messages

def _flag(name):
    return OPTIONS[name].option if name in OPTIONS else f"--{name.replace('_', '-')}"


# where: (the option, the option with a value, with one of several values)
SPELLINGS = {
    "arguments": (str, lambda name, value: f"{name}={value!r}",
                  lambda name, values: " or ".join(f"{name}={value!r}" for value in values)),
    "options": (_flag, lambda name, value: _flag(name) + ("" if value is True else f" {value}"),
                lambda name, values: f"{_flag(name)} {' and '.join(values)}"),
    "file": (str, lambda name, value: f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}".lower(),
             lambda name, values: " or ".join(f'{name} = "{value}"' for value in values)),
}
FUNCTIONS = {"arguments": {"continuation": "timefem.continuation", "restart": "timefem.restart"},
             "options": {"continuation": "--follow", "restart": "--restart"}}
_spelling = ContextVar("spelling", default="arguments")


@contextmanager
def spelt_as(spelling):
    """Messages made inside spell options as "arguments" of functions, "options" of the command line, or in a "file"."""
    token = _spelling.set(spelling)
    try:
        yield
    finally:
        _spelling.reset(token)


def spelling():
    return _spelling.get()


def one_of(values):
    """Values that something may have."""
    if spelling() == "file":
        return " or ".join(f'"{value}"' for value in values)
    return f"one of {', '.join(map(repr, values))}"


def spelt(name):
    """An option as it is spelt here and now: `line_search`, or `--line-search`."""
    return SPELLINGS[_spelling.get()][0](name)


def said(name, value=True):
    """An option with its value: `line_search=True`, `--line-search`, or `line_search = true`."""
    return SPELLINGS[_spelling.get()][1](name, value)


def said_any(name, values):
    """An option with one of several values."""
    return SPELLINGS[_spelling.get()][2](name, values)


def in_words(template):
    """A template with {line_search=True}, {driver=global} or {continuation} in the spelling of here and now."""
    def replacement(match):
        name, value = match.groups()
        if value is None:
            return FUNCTIONS.get(_spelling.get(), FUNCTIONS["arguments"])[name]
        return said(name, True if value == "True" else value)

    return re.sub(r"\{(\w+)(?:=([\w-]+))?\}", replacement, template)


# ---- Records of options: thresholds of a part of the package, each with its default, its meaning and how it was found.

Record = TypeVar("Record", bound=type)


class Options(NamedArguments):
    """Base of records of options: frozen dataclasses whose fields are numbers, made by `option`."""

    def __post_init__(self) -> None:
        for own in dataclasses.fields(self):  # type: ignore[arg-type]
            name, value = f"{type(self).__name__}: {own.name}", getattr(self, own.name)
            if own.type in ("int", int):
                integer(name, value, minimum=0)
            else:
                real(name, value, largest=math.inf)

    @classmethod
    def of(cls, given: Any) -> Any:
        """The record itself, or one with some of its numbers from a dict, as it stands in files."""
        return cls(**given) if isinstance(given, dict) else given


def option(default: float, meaning: str, measured: str = "") -> Any:
    """A number of `Options`: its default, what it is with its unit, and what was seen with others."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "measured": measured})


def documented(cls: Record) -> Record:
    """A decorator: the numbers with their meaning in the docstring."""
    cls.__doc__ = Documentation(_with_numbers, cls.__doc__)  # type: ignore[assignment]
    return cls


def _with_numbers(text, cls):
    rows = []
    for own in dataclasses.fields(cls):
        about = (own.metadata["meaning"], own.metadata["measured"])
        lines = textwrap.wrap(" ".join(f"{said[:1].upper()}{said[1:]}." for said in about if said), 112)
        rows += [f"{own.name} : {own.type}, default {own.default:g}", *(f"    {line}" for line in lines)]
    return "\n".join([text.rstrip(), "", *(f"    {row}" for row in ("Parameters", "----------", *rows))]) + "\n"
