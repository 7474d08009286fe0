"""The end of a process whose compiled code does not return: machine code, since Python does not run meanwhile."""

import ctypes
import importlib.util
import signal

from ..interrupts import SIGNALS

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
