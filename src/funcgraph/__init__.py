"""funcgraph: the Linux kernel's function-graph tracer, brought to running Python processes.

    with funcgraph.record("trace.dat", filter=["mypackage.*"], args=True):
        work()

records which functions ran, in what nesting and for how long; `funcgraph report -i trace.dat` prints it. From
a shell, `funcgraph record COMMAND...` does the same for a whole program and its child processes.

Nothing is imported until it is used: this module also loads in every traced process.
"""

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from funcgraph._engine import (
        FgraphOps,
        FtraceRegs,
        Function,
        GraphEnt,
        GraphRet,
        RetFrame,
        ReturnLocation,
        User,
        get_ret_stack,
        register_ftrace_graph,
        unregister_ftrace_graph,
        users,
    )
    from funcgraph._include import get_include
    from funcgraph.fgraph import registered
    from funcgraph.session.block import RecordBlock, record

    __version__: str

__all__ = [
    "FgraphOps",
    "FtraceRegs",
    "Function",
    "GraphEnt",
    "GraphRet",
    "RecordBlock",
    "RetFrame",
    "ReturnLocation",
    "User",
    "__version__",
    "get_include",
    "get_ret_stack",
    "record",
    "register_ftrace_graph",
    "registered",
    "unregister_ftrace_graph",
    "users",
]

# attribute -> the module that has it
_LAZY = {
    "FgraphOps": "funcgraph._engine",
    "FtraceRegs": "funcgraph._engine",
    "Function": "funcgraph._engine",
    "GraphEnt": "funcgraph._engine",
    "GraphRet": "funcgraph._engine",
    "RecordBlock": "funcgraph.session.block",
    "RetFrame": "funcgraph._engine",
    "ReturnLocation": "funcgraph._engine",
    "User": "funcgraph._engine",
    "get_include": "funcgraph._include",
    "get_ret_stack": "funcgraph._engine",
    "record": "funcgraph.session.block",
    "register_ftrace_graph": "funcgraph._engine",
    "registered": "funcgraph.fgraph",
    "unregister_ftrace_graph": "funcgraph._engine",
    "users": "funcgraph._engine",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, the first time it is asked for."""
    value: object
    if name == "__version__":
        from importlib.metadata import version

        value = version("funcgraph")
    elif name in _LAZY:
        from importlib import import_module

        value = getattr(import_module(_LAZY[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
