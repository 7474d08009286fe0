"""What the code of the package is counted by: circles, sizes, texts of reasons, random numbers, thresholds.

`python tools/architecture.py --counts` prints the counts, with NAME the places of one of them.
`tests/test_architecture.py` holds each at its target, or at what it was when it was last lowered.
"""

import ast
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "timefem"
EVIDENCE = "cases", "studies", "verification", "reproduction"
SMALL = {"atomic_write", "errors", "status", "version", "validate", "display", "progress", "parallel", "interrupts",
         "types", "memory", "records"}
MOST_FILES, MOST_METHODS, MOST_LINES, MOST_PARAMETERS = {"": 15, "mechanics": 12}, 30, 500, 8
COPIES = {"moved_to", "on_joints", "freed", "in_symbols", "take_numbers", "made_anew", "holding", "lasting",
          "reflected", "with_entry", "with_own_parameters"}
RANDOM = {  # what random numbers are for, by module: "start" perturbs one, "name" makes a digest, "data" is asked for
    "solvers.interior_point.algorithm": "start", "solvers.nonlinear.saddle_point": "start", "sparse": "start",
    "solvers.linear.dissection": "name", "problems.initial.checkpoint": "name", "analysis.floquet": "start",
    "analysis.tangents": "start",
    "problems.optimal.guesses.guess": "start", "problems.optimal.guesses.paths": "start",
    "problems.optimal.statement.end_conditions": "start", "sensitivity.identification": "start",
    "solving.many_solutions": "start",
    "problems.estimation.estimate": "data", "problems.estimation.kinematic.solve": "data"}


# ---- the code

@cache
def modules():
    """Name without `timefem.` -> (path, syntax tree); the package itself is the empty name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path, ast.parse(path.read_text())
    return found


@cache
def _index():
    """Module -> type -> nodes: one walk for all that is counted."""
    found = {}
    for name, (_, tree) in modules().items():
        own = found[name] = {}
        for node in ast.walk(tree):
            own.setdefault(type(node), []).append(node)
    return found


def nodes_of(name, kind):
    """All nodes of a kind in a module."""
    return [node for own, found in _index()[name].items() if issubclass(own, kind) for node in found]


@cache
def imports(name, for_types=False):
    """Nodes of the relative and absolute imports of a module, at any depth: those that run, or those for types only."""
    unseen = {inner for node in nodes_of(name, ast.If) if ast.unparse(node.test) == "TYPE_CHECKING"
              for inner in ast.walk(node)}
    return [node for node in nodes_of(name, ast.Import | ast.ImportFrom) if (node in unseen) == for_types]


def is_call_of(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def late_imports(name):
    """Modules of timefem that a module imports when it first uses them, `Late("timefem.NAME")`."""
    path, _ = modules()[name]
    package = ".".join(["timefem", *(name.split(".") if path.name == "__init__.py" else name.split(".")[:-1])])
    calls = (node.args[0] for node in nodes_of(name, ast.Call) if is_call_of(node, "Late"))
    places = [eval(ast.unparse(place), {"__package__": package, "sys": sys}) for place in calls]
    return {place.partition(".")[2] for place in places if place.startswith("timefem.")}


@cache
def targets(name, for_types=False):
    """Modules of timefem that a module imports, at any depth."""
    path, _ = modules()[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set() if for_types else late_imports(name)
    for node in imports(name, for_types):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[:len(package) - node.level + 1] + (node.module or "").split(".")
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "timefem":
            base = node.module.split(".")[1:]
        else:
            continue
        base = ".".join(part for part in base if part)
        for alias in node.names:
            inner = f"{base}.{alias.name}".lstrip(".")
            found.add(inner if inner in modules() else base)
    return found - {name}


def circles(seen):
    """Sets of modules that import each other (strongly connected components, Tarjan 1972); `seen(name)` -> modules."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in seen(v):
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            component = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(component) > 1:
                found.append(sorted(component))

    sys.setrecursionlimit(10_000)
    for name in modules():
        if name not in index:
            visit(name)
    return found


def running_imports(name):
    """Without those that come when both modules are there."""
    return targets(name) - late_imports(name)


def functions(tree, prefix=""):
    """(name, node) of all functions of a syntax tree, methods by their class; expressions hold none."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            continue
        name = f"{prefix}{getattr(node, 'name', '')}"
        if isinstance(node, ast.FunctionDef):
            yield name, node
        yield from functions(node, f"{name}." if isinstance(node, ast.ClassDef | ast.FunctionDef) else prefix)


def nodes(kind, but=()):
    """(module, node) of all nodes of a kind; without rooms of the package."""
    return [(module, node) for module in modules() if module.split(".")[0] not in but
            for node in nodes_of(module, kind)]


# ---- the counts: lists of places

def in_circles():
    """Modules that import each other, imports for types and in functions counted."""
    return [name for circle in circles(lambda name: targets(name) | targets(name, True)) for name in circle if name]


def crowded_files():
    """Files beyond what a folder should have."""
    sizes = Counter(path.parent.relative_to(PACKAGE).as_posix() for path, _ in modules().values()
                    if path.name != "__init__.py")
    return [f"{folder}: {n}" for folder, most in sizes.items()
            for n in range(MOST_FILES.get(folder, MOST_FILES[""]) + 1, most + 1)]


def crowded_methods():
    """Public methods beyond what a class should have, with those of mixins, bases that have no other subclass."""
    classes = {node.name: (module, node) for module, node in nodes(ast.ClassDef)}
    bases = {name: [ast.unparse(base) for base in node.bases] for name, (_, node) in classes.items()}
    uses = Counter(base for own in bases.values() for base in own)

    def methods(name):
        own = {node.name for node in classes[name][1].body if isinstance(node, ast.FunctionDef)}
        mixed = (methods(base) for base in bases[name] if base in classes and uses[base] == 1 and len(bases[name]) > 1)
        return {method for method in own.union(*mixed) if not method.startswith("_")}

    return [f"{module}.{name}: {n}" for name, (module, _) in classes.items()
            for n in range(MOST_METHODS + 1, len(methods(name)) + 1)]


def long_files():
    sizes = {name: len(path.read_text().splitlines()) for name, (path, _) in modules().items()}
    return [f"{name}: {n}" for name, n in sizes.items() if n > MOST_LINES]


def compared_reasons():
    """Comparisons with texts of reasons, by `==`, `in` or in tuples with names; `timefem/status.py` has the texts."""
    texts = {node.value for node in ast.walk(modules()["status"][1]) if isinstance(node, ast.Assign)
             for node in ast.walk(node) if isinstance(node, ast.Constant) and isinstance(node.value, str)
             and re.fullmatch("[a-z]+( [a-z]+){0,2}", node.value)} - {"none"}
    known = texts & {"converged", "not converged", "singular tangent", "linear solver failed", "not finite",
                     "not reached", "infeasible", "unbounded", "not accurate", "no guess", "step too small",
                     "constraints violated", "turns not counted", "constraints not redundant", "no consistent mode",
                     "motion blocked", "budget of impacts", "stopped"}
    return [f"{module}:{node.lineno}" for module, node in nodes(ast.Compare) if module != "status"
            if any(isinstance(inner, ast.Constant) and inner.value in known for inner in ast.walk(node))]


def compared_kinds():
    """Comparisons with names of kinds of problems, which declare what differs; "phases" is a key of files, too."""
    folders = next(node.value for node in modules()["problems.kinds"][1].body if isinstance(node, ast.Assign)
                   and ast.unparse(node.targets[0]) == "FOLDERS")
    known = {name.value for name in folders.elts}
    return [f"{module}:{node.lineno}" for module, node in nodes(ast.Compare | ast.Match)
            for text in texts_compared(node) & known if text != "phases" or "kind" in ast.unparse(node)]


def texts_compared(node):
    """Texts in a comparison; not that of `"text" in table`, which looks for a key: a kind may call one as itself."""
    looks_up = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)
    return {inner.value for one in (node.comparators if looks_up else [node]) for inner in ast.walk(one)
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str)}


def random_structure():
    """Random numbers that decide structure: ranks, patterns, what depends on what; `RANDOM` has the other ones."""
    return [place for place, purpose in random_numbers() if purpose == "structure"]


def random_numbers():
    """(place, purpose) of all random numbers of the package."""
    made = [(module, node) for module, node in nodes(ast.Attribute)
            if node.attr in ("default_rng", "RandomState", "seed") and "random" in ast.unparse(node)]
    return [(f"{module}:{node.lineno}", "data" if module.split(".")[0] in EVIDENCE else RANDOM.get(module, "structure"))
            for module, node in made]


def carriers():
    return [f"{module}:{node.lineno}" for module, node in nodes(ast.Attribute, but=("mechanics",))
            if node.attr == "carrier"]


def _many_parameters(compiled):
    found = []
    for module, (_, tree) in modules().items():
        for name, node in functions(tree):
            own = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len([a for a in own if a not in ("self", "cls")]) <= MOST_PARAMETERS:
                continue
            is_loop = any(word in ast.unparse(decorator) for decorator in node.decorator_list
                          for word in ("njit", "compiled"))
            if is_loop == compiled:
                found.append(f"{module}.{name}: {len(own)}")
    return found


def many_parameters():
    return _many_parameters(False)


def many_parameters_of_loops():
    return _many_parameters(True)


def untyped_functions():
    """Functions that `timefem` offers, and public methods of its classes and of abstract ones, without the types of all
    arguments and of what they return; stubs count. See tests/test_types.py, too."""
    door = ast.parse((PACKAGE / "__init__.pyi").read_text())
    offered = {alias.name: node.module for node in ast.walk(door) if isinstance(node, ast.ImportFrom)
               for alias in node.names}
    abstract = {node.name for _, node in nodes(ast.ClassDef) if _is_abstract(node)}
    found = []
    for module, (path, tree) in modules().items():
        stub = path.with_suffix(".pyi")
        typed = {name for name, _ in functions(ast.parse(stub.read_text()))} if stub.exists() else set()
        for name, node in functions(tree):
            owner, _, method = name.rpartition(".")
            own = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            lacks = node.returns is None or any(a.annotation is None for a in own if a.arg not in ("self", "cls"))
            what = owner or name
            public = module.startswith(offered[what] or "") if what in offered else owner in abstract
            if lacks and public and name not in typed and not method.startswith("_"):
                found.append(f"{module}.{name}")
    return found


def _is_abstract(node):
    decorators = (d for inner in node.body if isinstance(inner, ast.FunctionDef) for d in inner.decorator_list)
    return any("abstractmethod" in ast.unparse(d) for d in decorators) or "ABC" in map(ast.unparse, node.bases)


def _is_number(node):
    """Whether an expression is made of numbers alone."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(_is_number, node.elts))
    return (isinstance(node, ast.UnaryOp) and _is_number(node.operand)) or \
        (isinstance(node, ast.BinOp) and _is_number(node.left) and _is_number(node.right))


def numeric_constants():
    found = []
    for module, (_, tree) in modules().items():
        for node in tree.body:
            for target in node.targets if isinstance(node, ast.Assign) else ():
                pairs = zip(target.elts, getattr(node.value, "elts", ()), strict=False) if \
                    isinstance(target, ast.Tuple) else [(target, node.value)]
                found += [f"{module}.{name.id}" for name, value in pairs if isinstance(name, ast.Name)
                          and name.id.isupper() and _is_number(value)]
    return found


def numeric_options():
    """Numbers that are fields of records of options."""
    return [f"{module}.{node.name}.{field.target.id}" for module, node in nodes(ast.ClassDef)
            if node.name.endswith("Options") for field in node.body
            if isinstance(field, ast.AnnAssign) and ast.unparse(field.annotation) in ("float", "int")]


def copy_protocols():
    """Definitions of ways to copy a part with other numbers or on other bodies, and `changed` of classes of parts."""
    return [f"{module}:{node.lineno} {node.name}" for module, node in nodes(ast.FunctionDef)
            if node.name in COPIES or (node.name == "changed" and module.startswith("mechanics."))]


def inner_imports_of_evidence():
    """Imports of evidence past the public door, `from timefem import ...`, and what checks arguments and tells errors.
    """
    seen = (*EVIDENCE, *SMALL, "")
    return [f"{module}: {target}" for module in modules() if module.split(".")[0] in EVIDENCE
            for target in sorted(targets(module) | targets(module, True)) if target.split(".")[0] not in seen]


def users_of_evidence():
    """Modules that import evidence, other than evidence and the command line."""
    return [f"{module}: {target}" for module in modules() if module.split(".")[0] not in (*EVIDENCE, "cli")
            for target in sorted(targets(module) | targets(module, True)) if target.split(".")[0] in EVIDENCE]


def files():
    return list(modules())


def lines():
    return [line for path, _ in modules().values() for line in path.read_text().splitlines()]


COUNTS = {  # what is counted -> (places, target, today's number: it may fall, and not rise)
    "modules in circles": (in_circles, 0, 0),
    "files beyond 15 in a folder": (crowded_files, 0, 0),
    "public methods beyond 30 in a class": (crowded_methods, 0, 0),
    "files over 500 lines": (long_files, 0, 0),
    "comparisons with texts of reasons": (compared_reasons, 0, 0),
    "comparisons with names of kinds": (compared_kinds, 0, 0),
    "random numbers that decide structure": (random_structure, 0, 0),
    ".carrier outside mechanics": (carriers, 0, 0),
    "functions over 8 parameters": (many_parameters, 0, 0),
    "compiled loops over 8 parameters": (many_parameters_of_loops, 0, 0),
    "public functions without types": (untyped_functions, 0, 0),
    "numeric module constants": (numeric_constants, 250, 246),
    "inner imports of evidence": (inner_imports_of_evidence, 0, 0),
    "users of evidence": (users_of_evidence, 0, 0),
    "copy protocols of parts": (copy_protocols, 2, 2),
}
FACTS = {"numbers in records of options": numeric_options, "files": files, "lines": lines}  # without a bound


def table():
    """All counts, as text."""
    rows = [(name, len(places()), f"target {target}") for name, (places, target, _) in COUNTS.items()]
    rows += [(name, len(places()), "") for name, places in FACTS.items()]
    purposes = Counter(purpose for _, purpose in random_numbers())
    rows += [(f"random numbers: {purpose}", n, "") for purpose, n in sorted(purposes.items())]
    return "\n".join(f"{name:40} {n:7}   {target}".rstrip() for name, n, target in rows)


def places(name):
    """All places of one count, as text; "random" lists all random numbers with what they are for."""
    if name == "random":
        return "\n".join(f"{place:55} {purpose}" for place, purpose in random_numbers())
    known = {what: counted[0] for what, counted in COUNTS.items()} | FACTS
    return "\n".join(map(str, next(places() for what, places in known.items() if name in what)))
