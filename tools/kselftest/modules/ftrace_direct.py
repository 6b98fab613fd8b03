"""Stands for the kernel's samples/ftrace/ftrace-direct: a user who writes at each call of a function."""

import funcgraph


def my_direct_func(*_: object) -> None:
    """Run before the function."""
    funcgraph.trace_printk("waking up")


_direct = funcgraph.Fprobe(my_direct_func)
funcgraph.register_fprobe(_direct, "kernel.wake_up_process")


def module_exit() -> None:
    """Unregister the user."""
    funcgraph.unregister_fprobe(_direct)
