"""Functions and objects that are never hooked, whatever their code is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from funcgraph.native.elf import Elf
from funcgraph.native.reasons import Reason

__all__ = ["is_unsafe_object", "reason_of_names"]

#: Each is a regular expression for a whole name. They use their return address again after they have
#: returned, or go on with another stack: the stub that they would return to is gone by then. The first line
#: has the names that GCC knows (special_function_p() in its calls.cc).
_RETURNS_TWICE = (
    r"_*(?:setjmp|sigsetjmp|savectx|vfork|getcontext)(?:_syscall)?",
    r"__libc_vfork",
    r"_*swapcontext",
    r"_*(?:unw|U\w+)_getcontext",  # libunwind
    r"(?:jump|ontop)_fcontext",  # Boost
    r"slp_switch(?:\..*)?",  # greenlet
)

_UNSAFE = (
    # They look at their return address to learn who called them.
    r"_*(?:dlopen|dlmopen|dlsym|dlvsym|dl_iterate_phdr)",
    r"_*mcount(?:_internal)?",
    r"__fentry__",
    r"_dl_mcount\w*",
    r"__cyg_profile_func_(?:enter|exit)",
    # They have another calling convention than C, and bind or look up symbols in the middle of a call.
    r"_dl_runtime_\w+",
    r"_dl_(?:profile_)?fixup",
    r"_dl_tlsdesc_\w+|__tlsdesc_\w+",
    r"__tls_get_addr(?:_slow)?",
    r"__morestack\w*",
    # They end a signal handler, a thread or a context, and have no caller; or begin a program.
    r"_*restore(?:_rt)?",
    r"_*(?:rt_)?sigreturn",
    r"_*setcontext",
    r"__sigsetjmp_tail",
    r"__start_context",
    r"__unmapself",
    r"_start(?:_c)?|_dlstart\w*|__dls\d\w*",
    r"_init|_fini",
    # A cancelled thread is looked for between their first instruction and their system call, by its address.
    r"__syscall_cp_asm|__syscall_cancel_arch",
    # CPython's interpreter, built to call itself by jumps: none of these returns before the last one does.
    r"_TAIL_CALL_\w+",
    # Thunks of indirect jumps and returns, which are entered with any register in use.
    r"__x86_(?:indirect|return)_\w+|__llvm_(?:retpoline|lvi_thunk)_\w+",
    # A sanitizer's hooks of functions.
    r"__(?:a|t|m|ub|hwa)san_\w+|__sanitizer_\w+|__interceptor_\w+",
)

#: Objects, by the name under which others need them: the dynamic loader, which runs in the middle of a call
#: that it binds; virtual machines that find out who called them by the return address on the stack.
_UNSAFE_SONAMES = r"ld-linux.*|ld-\d.*|ld64\..*|libjvm\..*|libnode\..*|libv8\..*|libmozjs-.*|libcoreclr\..*"

#: The table of functions that Go has: it moves stacks, and knows all return addresses on them.
_GO_TABLES = (".gopclntab", ".data.rel.ro.gopclntab")

_TWICE_NAMES, _UNSAFE_NAMES = (re.compile("|".join(patterns)) for patterns in (_RETURNS_TWICE, _UNSAFE))
#: Extension modules, by a text that is in them: funcgraph's own, and greenlet, whose functions return in each
#: of two greenlets.
_UNSAFE_MODULES = re.compile(rb"\0(?:funcgraph\._(?:engine|environ|control)|greenlet\._greenlet)\0")


def reason_of_names(names: Iterable[str]) -> Reason:
    """Return why a function of these names is not hooked; HOOKABLE: nothing is against it."""
    for name in names:
        if _TWICE_NAMES.fullmatch(name):
            return Reason.RETURNS_TWICE
        if _UNSAFE_NAMES.fullmatch(name):
            return Reason.UNSAFE
    return Reason.HOOKABLE


def is_unsafe_object(elf: Elf) -> bool:
    """Return whether no function of an object is hooked. Those of funcgraph itself are such objects.

    Raises:
        PlanError: the object is damaged.
    """
    if re.fullmatch(_UNSAFE_SONAMES, elf.soname) or any(map(elf.section, _GO_TABLES)):
        return True
    strings = elf.section(".rodata")
    return strings is not None and _UNSAFE_MODULES.search(elf.data(strings)) is not None
