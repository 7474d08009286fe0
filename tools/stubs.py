"""Stubs (.pyi) of modules whose constructors are made from declared arguments, so that type checkers know these.

python tools/stubs.py [--check]

A class with declared arguments (`timefem/mechanics/declared`) gets the signature that it has, with the types that its
fields state, and fields of dataclasses that are `Converted[given, kept]` get both types. All else that has types is
copied from the module, without bodies.
"""

import ast
import builtins
import importlib
import inspect
import sys
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "timefem"
NOTE = "# made by tools/stubs.py: change the module\n"
COMMON = {"Any": ("from typing ", "Any"), "ClassVar": ("from typing ", "ClassVar"),
          "Literal": ("from typing ", "Literal"), "np": ("", "numpy as np"),
          "Sequence": ("from collections.abc ", "Sequence")}
PLAIN = ast.Constant, ast.Tuple, ast.UnaryOp, ast.Load, ast.USub
WIDTH = 120


def stub(path):
    """The stub of a module; None where it needs none."""
    name = ".".join(("timefem", *path.relative_to(PACKAGE).with_suffix("").parts))
    text = path.read_text()
    declares = "declared import" in text or "Converted[" in text
    if path.name == "__init__.py" or "declared" in path.parts or not declares:
        return None
    module, tree = importlib.import_module(name), ast.parse(text)
    if not any(made_constructor(vars(module).get(node.name)) or converted(node)
               for node in tree.body if isinstance(node, ast.ClassDef)):
        return None
    constants = [f"{word}: {type_of(getattr(module, word))}" for node in tree.body for word in assigned_names(node)]
    blocks = ["\n".join(constants)] if constants else []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            blocks.append("\n".join(in_class(node, getattr(module, node.name))))
        elif isinstance(node, ast.FunctionDef) and node.returns:
            blocks.append("\n".join(function(node)))
    body = "\n\n\n".join(blocks)
    return f"{NOTE}\n{imports(path, tree, body)}\n\n\n{body}\n"


def imports(path, tree, body):
    """Imports of the module, or of what its types need, as far as the stub uses them."""
    used = {n.id for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    own, found = {node.name for node in tree.body if isinstance(node, ast.ClassDef)} | set(dir(builtins)), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            start = f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
            found |= {alias.asname or alias.name: (start, ast.unparse(alias)) for alias in node.names}
    lines = {}
    for word in sorted(used - own):
        start, text = COMMON.get(word) or (found.get(word) if word not in words() else None) or place(word, path)
        lines.setdefault(start or text, []).append(text)
    return "\n".join(f"{start}import {', '.join(texts)}" if start.startswith("from") else f"import {start}"
                     for start, texts in sorted(lines.items(), key=lambda item: ("from ." in item[0], item[0])))


def place(word, path):
    """Import of a name of `timefem/types.py`, or of a class of the package."""
    modules = ["timefem.types"] if word in words() else places().get(word, ())
    if len(modules) != 1:
        raise SystemExit(f"{path}: which {word!r} is meant, of {', '.join(modules)}? Import it there")
    return f"from {modules[0]} ", word


@cache
def words():
    """Names of `timefem/types.py`."""
    tree = ast.parse((PACKAGE / "types.py").read_text())
    return {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}


@cache
def places():
    """Modules of all classes of the package, by name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(("timefem", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    return found


def made_constructor(cls):
    """Whether a class has declared arguments, and its constructor from them."""
    return inspect.isclass(cls) and bool(getattr(cls, "fields", None)) and "__init__" not in vars(cls)


def converted(node):
    """The fields of a dataclass, name -> (types of argument and attribute, default), where some are converted."""
    fields = [s for s in node.body if isinstance(s, ast.AnnAssign)]
    if not any(ast.unparse(s.annotation).startswith("Converted[") for s in fields):
        return {}
    pairs = {}
    for s in fields:
        kind = s.annotation
        given, kept = kind.slice.elts if ast.unparse(kind).startswith("Converted[") else (kind, kind)
        pairs[s.target.id] = ast.unparse(given), ast.unparse(kept), s.value
    return pairs


def in_class(node, cls):
    """Lines of a class."""
    fields, lines, pairs = getattr(cls, "fields", {}), [], converted(node)
    known = {name for base in cls.__mro__[1:] for name in vars(base)}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign):
            kind = pairs.get(statement.target.id, (None, ast.unparse(statement.annotation)))[1]
            lines.append(f"{statement.target.id}: {kind}" + " = ..." * (statement.value is not None))
        elif isinstance(statement, ast.Assign):
            form = "{}: ClassVar[{}]" if node.decorator_list else "{}: {}"  # no fields of dataclasses
            lines += [form.format(name, attribute(fields, cls, name)) for name in assigned_names(statement)]
        elif isinstance(statement, ast.FunctionDef) and statement.returns:
            lines += function(statement)
    known |= {line.partition(":")[0] for line in lines} | fields.keys()
    known |= {statement.name for statement in node.body if isinstance(statement, ast.FunctionDef)}
    is_public = made_constructor(cls) or any("(" in line for line in lines)
    lines += [f"{name}: Any" for name in set_by_methods(node) if is_public and name not in known]
    if made_constructor(cls):
        lines += constructor(fields, cls)
    elif pairs:
        arguments = ["self"] + [f"{name}: {given}" + ("" if value is None else f" = {default(value)}")
                                for name, (given, _, value) in pairs.items()]
        lines += header("__init__", arguments, "None")
    decorators = [f"@{ast.unparse(d)}" for d in node.decorator_list]
    bases = ", ".join(map(ast.unparse, [*node.bases, *(k for k in node.keywords if k.arg == "total")]))
    return [*decorators, f"class {node.name}({bases}):" if bases else f"class {node.name}:",
            *(f"    {line}" for line in lines or ["..."])]


def assigned_names(node):
    """Public names that an assignment gives."""
    return [n.id for target in (node.targets if isinstance(node, ast.Assign) else ()) for n in ast.walk(target)
            if isinstance(n, ast.Name) and not n.id.startswith("_")]


def set_by_methods(node):
    """Public attributes that methods of a class set."""
    return dict.fromkeys(n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
                         and isinstance(n.value, ast.Name) and n.value.id == "self" and not n.attr.startswith("_"))


def attribute(fields, cls, name):
    """Type of a class attribute."""
    if name in fields and name in vars(cls):
        return optional(fields[name], fields[name].kept_as)
    return type_of(vars(cls).get(name))


def type_of(value):
    return type(value).__name__ if isinstance(value, bool | int | float | str) else "Any"


def optional(field, kind):
    return f"{kind} | None" if field.optional and "None" not in kind else kind


def constructor(fields, cls):
    """The constructor by declared arguments."""
    arguments, star = ["self"], False
    for (_, field), parameter in zip(fields.items(), cls.__signature__.parameters.values(), strict=True):
        by_name = parameter.kind is parameter.KEYWORD_ONLY
        if by_name and not star:
            arguments, star = [*arguments, "*"], True
        text = f"{parameter.name}: {optional(field, field.given_as)}"
        if parameter.default is not parameter.empty and not (field.required and by_name):
            # needed, but behind arguments that are not
            text += f" = {'...' if field.required else default(ast.parse(repr(parameter.default)).body[0].value)}"
        arguments.append(text)
    return header("__init__", arguments, "None")


def function(node):
    """Decorators and signature of a function or method."""
    lines = [f"@{ast.unparse(d)}" for d in node.decorator_list]
    a = node.args
    pairs = [*zip(a.posonlyargs + a.args, [None] * (len(a.args) - len(a.defaults)) + a.defaults, strict=True)]
    arguments = [argument(*pair) for pair in pairs]
    if a.vararg or a.kwonlyargs:
        arguments.append("*" + (argument(a.vararg) if a.vararg else ""))
    arguments += [argument(*pair) for pair in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    arguments += ["**" + argument(a.kwarg)] if a.kwarg else []
    return lines + header(node.name, arguments, ast.unparse(node.returns) if node.returns else None)


def argument(node, value=None):
    text = node.arg + (f": {ast.unparse(node.annotation)}" if node.annotation else "")
    return text if value is None else f"{text} = {default(value)}"


def default(node):
    """A default as it is written, where it is a plain number, text or tuple of these."""
    return ast.unparse(node) if all(isinstance(n, PLAIN) for n in ast.walk(node)) else "..."


def header(name, arguments, returns):
    """`def` in as many lines as it takes inside of a class."""
    end = f") -> {returns}: ..." if returns else "): ..."
    line, lines = f"def {name}(", []
    for i, text in enumerate(arguments):
        text += ", " if i < len(arguments) - 1 else end
        if len(line + text.rstrip()) > WIDTH - 4 and i:
            lines.append(line.rstrip())
            line = " " * len(f"def {name}(")
        line += text
    return [*lines, line if arguments else line + end]


def main(check=False):
    """Write the stubs; with `check` tell those that are not as they would be written."""
    stale = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text, target = stub(path), path.with_suffix(".pyi")
        if path.name != "__init__.py" and text != (target.read_text() if target.exists() else None):
            stale.append(str(target.relative_to(PACKAGE)))
            if not check:
                target.unlink() if text is None else target.write_text(text)
    return stale


if __name__ == "__main__":
    check = "--check" in sys.argv[1:]
    stale = main(check)
    print(f"{'stale' if check else 'written'}: {', '.join(stale) or 'none'}")
    sys.exit(1 if check and stale else 0)
