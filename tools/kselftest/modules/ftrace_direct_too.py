"""Stands for the kernel's samples/ftrace/ftrace-direct-too: one more user, of another function."""

import funcgraph


def my_direct_func(*_: object) -> None:
    """Run before the function."""
    funcgraph.trace_printk("opening")


_direct = funcgraph.Fprobe(my_direct_func)
funcgraph.register_fprobe(_direct, "kernel.vfs_open")


def module_exit() -> None:
    """Unregister the user."""
    funcgraph.unregister_fprobe(_direct)
