"""The kernel's tracepoints, as static events that program.py declares: what TRACE_EVENT is in the kernel.

kernel.py hits them where the kernel does.
"""

from __future__ import annotations

from funcgraph import trace_event

_TASK = {"comm": "string", "pid": "s32", "prio": "s32"}
_MEMORY = {"call_site": "symbol", "ptr": "x64"}
_SIZES = {"bytes_req": "u64", "bytes_alloc": "u64"}

sched_process_fork = trace_event(
    *("sched", "sched_process_fork"),
    parent_comm="string",
    parent_pid="s32",
    child_comm="string",
    child_pid="s32",
)
sched_process_exec = trace_event("sched", "sched_process_exec", filename="string", pid="s32", old_pid="s32")
sched_process_exit = trace_event("sched", "sched_process_exit", **_TASK)
sched_waking = trace_event("sched", "sched_waking", **_TASK)
sched_wakeup = trace_event("sched", "sched_wakeup", **_TASK)
sched_switch = trace_event(
    *("sched", "sched_switch"),
    **{f"prev_{name}": kind for name, kind in _TASK.items()},
    prev_state="s64",
    **{f"next_{name}": kind for name, kind in _TASK.items()},
)

kmalloc = trace_event("kmem", "kmalloc", **_MEMORY, **_SIZES)
kmem_cache_alloc = trace_event("kmem", "kmem_cache_alloc", **_MEMORY, name="string", **_SIZES)
kmem_cache_free = trace_event("kmem", "kmem_cache_free", **_MEMORY, name="string")
kfree = trace_event("kmem", "kfree", **_MEMORY)

sys_exit = trace_event("raw_syscalls", "sys_exit", id="s64", ret="s64")
sys_enter_chdir = trace_event("syscalls", "sys_enter_chdir", filename="string")
sys_enter_open = trace_event("syscalls", "sys_enter_open", filename="string", flags="x64", mode="x64")
sys_enter_openat = trace_event(
    "syscalls", "sys_enter_openat", dfd="s64", filename="string", flags="x64", mode="x64"
)
sys_exit_openat = trace_event("syscalls", "sys_exit_openat", ret="s64")

signal_generate = trace_event(
    "signal", "signal_generate", sig="s32", errno="s32", code="s32", comm="string", pid="s32"
)
timer_cancel = trace_event("timer", "timer_cancel", timer="x64")
