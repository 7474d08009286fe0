"""LLVM: from its intermediate language to object code for this processor, and from object code to an address."""

import contextlib
import ctypes
import functools
import sys

try:
    import llvmlite.binding as llvm
except ImportError:  # kernels then run in CasADi's virtual machine
    llvm = None

from .operations import LIBM

__all__ = ["address_of", "common_name", "common_processor", "fingerprint", "has_assembly", "link", "load_objects",
           "name_address", "object_code", "registers", "vector_width"]

SCHEDULING = ("enable-misched", "false"), ("disable-post-ra", "true")  # before and after registers are chosen
KNOWN = range(14, 23)  # versions of LLVM that have these options
# the processors that code for others than this machine is made for, by architecture: name, and what they have
COMMON = {"x86_64": ("x86-64-v3", "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sse3 sse4.1 sse4.2 ssse3")}
OTHERS = "generic", ""
OPTIMISATION = 2  # of the code generator: level 1 gains no time, level 0 costs half of the speed


@functools.cache
def _target():
    """Start LLVM, and tell it where the C library is: an address that it cannot find would end the process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    try:
        libm = ctypes.CDLL({"linux": "libm.so.6", "win32": "ucrtbase"}.get(sys.platform))
    except OSError:
        libm = ctypes.CDLL(None)  # another C library, which holds it itself
    # the names after LIBM: what intrinsics become on processors that have no such instruction, and memory of loops
    for name in {*LIBM.values(), "floor", "ceil", "fmin", "fmax", "malloc", "free"}:
        llvm.add_symbol(name, ctypes.cast(getattr(libm, name), ctypes.c_void_p).value)
    return llvm.Target.from_default_triple()


@functools.cache
def _processor():
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _machine():
    cpu, features = _processor()
    return _target().create_target_machine(cpu=cpu, features=features, opt=OPTIMISATION)


@functools.cache
def fingerprint():
    """What object code depends on besides its source: the processor, and LLVM."""
    return repr((*_processor(), _target().triple, llvm.llvm_version_info, OPTIMISATION))


def _common():
    return COMMON.get(_target().triple.partition("-")[0], OTHERS)


def common_name():
    """LLVM's name of the processors of this architecture that code for others than this machine is made for."""
    return _common()[0]


@functools.cache
def common_processor():
    """These processors and their system, as text; None where that at hand has not what they have."""
    name, features = _common()
    lacking = {f"+{feature}" for feature in features.split()} - set(_processor()[1].split(","))
    return None if lacking else f"{name} {_target().triple}"


@functools.cache
def vector_width():
    """Doubles in a vector register, for kernels of 8 lanes."""
    return 8 if "+avx512f" in _processor()[1].split(",") else 4


def registers():
    """Values that kernels hold at once: some less than there are vector registers, which addresses do not take."""
    return 30 if vector_width() == 8 else 14


@functools.cache
def has_assembly():
    """Whether this is a processor and a system for which `assembly` is written."""
    architecture, _, system = _target().triple.partition("-")
    features = _processor()[1].split(",")
    return architecture == "x86_64" and "linux" in system and "+fma" in features and "+avx2" in features


@contextlib.contextmanager
def _unscheduled():
    """Context in which the code generator leaves instructions in their order: a quarter faster, and the code of
    kernels, straight lines in which neighbours depend on each other little, as fast."""
    known = llvm.llvm_version_info[0] in KNOWN  # what does not know an option ends the process
    for name, value in SCHEDULING if known else ():
        llvm.set_option("timefem", f"-{name}={value}")
    try:
        yield
    finally:  # other code is Numba's
        for name, value in SCHEDULING if known else ():
            llvm.set_option("timefem", f"-{name}={'false' if value == 'true' else 'true'}")


def object_code(text):
    """Object code of a module in LLVM's language, bytes."""
    # No optimisation passes: SX is already simplified and shares its subexpressions, so the code of O1 to O3
    # runs no faster and takes longer to compile.
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    with _unscheduled():
        return machine.emit_object(module)


def link(code):
    """The engine that owns the object code, and the addresses of its functions ``kernel`` and ``kernel_first``."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, *map(engine.get_function_address, ("kernel", "kernel_first"))


@functools.cache
def _shared():
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())


def load_objects(*codes):
    """Link object code that stays for the life of the process: a twentieth of the time of `link`."""
    for code in codes:
        _shared().add_object_file(llvm.ObjectFileRef.from_data(code))
    _shared().finalize_object()


def address_of(name):
    """The address of a function in what was loaded; 0 if there is none."""
    return _shared().get_function_address(name)


def name_address(name, address):
    """Let object code that is linked from now on find an address."""
    _target()
    llvm.add_symbol(name, address)
