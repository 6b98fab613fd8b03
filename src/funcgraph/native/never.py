"""Functions that are never hooked, whatever their code is, by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from funcgraph.native.reasons import Reason

__all__ = ["is_loader", "reason_of_names"]

# Their frame is used again after they have returned, or they go on with another stack than they began with:
# the stub that they would be called from is gone by then. GCC has the first part of this list, too (calls.cc,
# special_function_p).
_RETURNS_TWICE = re.compile(
    r"_*(?:setjmp|sigsetjmp|savectx|vfork|getcontext|swapcontext)(?:_syscall|_plt)?"
    r"|__libc_vfork"
    r"|(?:jump|ontop|make|swap)_fcontext|slp_switch(?:\..*)?|coro_transfer|lj_vm_\w+"
)

# They look at their own return address to learn who called them, are called with another convention than C's,
# end a signal handler, or are what the hook itself stands on.
_UNSAFE = re.compile(
    r"_*(?:dlsym|dlvsym|dlopen|dlmopen|dl_iterate_phdr)(?:_compat|_implementation|_doit)?|___?dl(?:v?sym|m?open)"
    r"|_*(?:fentry|mcount)_*|mcount_internal|__mcount_internal|_dl_mcount\w*|__cyg_profile_func_(?:enter|exit)"
    r"|_dl_runtime_\w+|_dl_fixup|_dl_profile_fixup|_dl_tlsdesc_\w+|__tls_get_addr(?:_slow)?|__tlsdesc_\w+|_dl_audit\w*"
    r"|_*restore(?:_rt)?|__libc_sigreturn|sigreturn|__?sigreturn|_*setcontext|__start_context|__push___start_context"
    r"|_start|_start_c|_init|_fini|_dlstart\w*|__dls\d\w*|__unmapself|__syscall_cp_(?:asm|c)|__cp_(?:begin|end|cancel)"
    r"|__morestack\w*|__asan_\w+|__tsan_\w+|__msan_\w+|__ubsan_\w+|__sanitizer_\w+|__interceptor_\w+|fg_\w+"
)

# The dynamic loader runs in the middle of a call that it binds.
_LOADER = re.compile(r"ld-linux|ld-\d|ld64\.")


def reason_of_names(names: Iterable[str]) -> Reason:
    """Return why a function of these names is not hooked; HOOKABLE: nothing is against it."""
    for name in names:
        if _RETURNS_TWICE.fullmatch(name):
            return Reason.RETURNS_TWICE
        if _UNSAFE.fullmatch(name):
            return Reason.UNSAFE
    return Reason.HOOKABLE


def is_loader(soname: str) -> bool:
    """Return whether an object is the dynamic loader, of which nothing is hooked."""
    return bool(_LOADER.match(soname))
