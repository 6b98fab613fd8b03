"""funcgraph: the Linux kernel's function-graph tracer, brought to running Python processes.

    with funcgraph.record("trace.fg", filter=["mypackage.*"], args=True):
        work()

records which functions ran, in what nesting and for how long. `funcgraph report -i trace.fg` prints it. From
a shell, `funcgraph record COMMAND...` does the same for a whole program and its child processes.

Every traced process imports this module, so it imports a name's module when the name is first used.

PYTEST_DONT_REWRITE: a recorded pytest would warn that its plugin's package was imported before it started.
"""

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from funcgraph._engine import (
        FgraphOps,
        Fprobe,
        FtraceRegs,
        Function,
        GraphEnt,
        GraphRet,
        InstructionPointer,
        Kprobe,
        KprobeMultiCtx,
        KprobeMultiLink,
        KprobeRegs,
        PartialRegs,
        PerfSample,
        RetFrame,
        ReturnAddress,
        ReturnLocation,
        TraceEvent,
        User,
        capabilities,
        disable_fprobe,
        disable_kprobe,
        enable_fprobe,
        enable_kprobe,
        fprobe_is_registered,
        get_ret_stack,
        killed,
        kprobes,
        register_fprobe_ips,
        register_ftrace_graph,
        trace_printk,
        unregister_fprobe,
        unregister_fprobe_async,
        unregister_ftrace_graph,
        unregister_kprobe,
        users,
    )
    from funcgraph._include import get_include
    from funcgraph.control.serving import serve
    from funcgraph.definitions.typed import Event
    from funcgraph.events.live import dynamic_events
    from funcgraph.events.program_event import trace_event
    from funcgraph.fgraph import available_filter_functions, registered
    from funcgraph.fprobe import (
        fprobe_count_ips_from_filter,
        register_fprobe,
        register_fprobe_syms,
        registered_fprobe,
    )
    from funcgraph.instance.instance import Instance, instances
    from funcgraph.instance.marker import TraceMarker, TraceMarkerRaw, trace_marker
    from funcgraph.instance.pipe import TracePipe
    from funcgraph.instance.profile import FunctionProfile, ProfileRow
    from funcgraph.instance.snapshot import Snapshot
    from funcgraph.kprobe import probed, register_kprobe
    from funcgraph.kretprobe import (
        Kretprobe,
        KretprobeInstance,
        disable_kretprobe,
        enable_kretprobe,
        register_kretprobe,
        unregister_kretprobe,
    )
    from funcgraph.multi import kprobe_multi
    from funcgraph.session.block import RecordBlock, record
    from funcgraph.session.dump_request import ftrace_dump
    from funcgraph.tracedata.description import SelectionError, TraceError
    from funcgraph.tracedata.opened import Trace
    from funcgraph.tracedata.opened import open_trace as open
    from funcgraph.tracedata.selection import Selection

    __version__: str

__all__ = [
    "Event",
    "FgraphOps",
    "Fprobe",
    "FtraceRegs",
    "Function",
    "FunctionProfile",
    "GraphEnt",
    "GraphRet",
    "Instance",
    "InstructionPointer",
    "Kprobe",
    "KprobeMultiCtx",
    "KprobeMultiLink",
    "KprobeRegs",
    "Kretprobe",
    "KretprobeInstance",
    "PartialRegs",
    "PerfSample",
    "ProfileRow",
    "RecordBlock",
    "RetFrame",
    "ReturnAddress",
    "ReturnLocation",
    "Selection",
    "SelectionError",
    "Snapshot",
    "Trace",
    "TraceError",
    "TraceEvent",
    "TraceMarker",
    "TraceMarkerRaw",
    "TracePipe",
    "User",
    "__version__",
    "available_filter_functions",
    "capabilities",
    "disable_fprobe",
    "disable_kprobe",
    "disable_kretprobe",
    "dynamic_events",
    "enable_fprobe",
    "enable_kprobe",
    "enable_kretprobe",
    "fprobe_count_ips_from_filter",
    "fprobe_is_registered",
    "ftrace_dump",
    "get_include",
    "get_ret_stack",
    "instances",
    "killed",
    "kprobe_multi",
    "kprobes",
    "open",
    "probed",
    "record",
    "register_fprobe",
    "register_fprobe_ips",
    "register_fprobe_syms",
    "register_ftrace_graph",
    "register_kprobe",
    "register_kretprobe",
    "registered",
    "registered_fprobe",
    "serve",
    "trace_event",
    "trace_marker",
    "trace_printk",
    "unregister_fprobe",
    "unregister_fprobe_async",
    "unregister_ftrace_graph",
    "unregister_kprobe",
    "unregister_kretprobe",
    "users",
]

# attribute -> the module that has it, and its name there if it is another
_LAZY = {
    "Event": "funcgraph.definitions.typed",
    "FgraphOps": "funcgraph._engine",
    "Fprobe": "funcgraph._engine",
    "FtraceRegs": "funcgraph._engine",
    "Function": "funcgraph._engine",
    "FunctionProfile": "funcgraph.instance.profile",
    "GraphEnt": "funcgraph._engine",
    "GraphRet": "funcgraph._engine",
    "Instance": "funcgraph.instance.instance",
    "InstructionPointer": "funcgraph._engine",
    "Kprobe": "funcgraph._engine",
    "KprobeMultiCtx": "funcgraph._engine",
    "KprobeMultiLink": "funcgraph._engine",
    "KprobeRegs": "funcgraph._engine",
    "Kretprobe": "funcgraph.kretprobe",
    "KretprobeInstance": "funcgraph.kretprobe",
    "PartialRegs": "funcgraph._engine",
    "PerfSample": "funcgraph._engine",
    "ProfileRow": "funcgraph.instance.profile",
    "RecordBlock": "funcgraph.session.block",
    "RetFrame": "funcgraph._engine",
    "ReturnAddress": "funcgraph._engine",
    "ReturnLocation": "funcgraph._engine",
    "Selection": "funcgraph.tracedata.selection",
    "SelectionError": "funcgraph.tracedata.description",
    "Snapshot": "funcgraph.instance.snapshot",
    "Trace": "funcgraph.tracedata.opened",
    "TraceError": "funcgraph.tracedata.description",
    "TraceEvent": "funcgraph._engine",
    "TraceMarker": "funcgraph.instance.marker",
    "TraceMarkerRaw": "funcgraph.instance.marker",
    "TracePipe": "funcgraph.instance.pipe",
    "User": "funcgraph._engine",
    "available_filter_functions": "funcgraph.fgraph",
    "capabilities": "funcgraph._engine",
    "disable_fprobe": "funcgraph._engine",
    "disable_kprobe": "funcgraph._engine",
    "disable_kretprobe": "funcgraph.kretprobe",
    "dynamic_events": "funcgraph.events.live",
    "enable_fprobe": "funcgraph._engine",
    "enable_kprobe": "funcgraph._engine",
    "enable_kretprobe": "funcgraph.kretprobe",
    "fprobe_count_ips_from_filter": "funcgraph.fprobe",
    "fprobe_is_registered": "funcgraph._engine",
    "ftrace_dump": "funcgraph.session.dump_request",
    "get_include": "funcgraph._include",
    "get_ret_stack": "funcgraph._engine",
    "instances": "funcgraph.instance.instance",
    "killed": "funcgraph._engine",
    "kprobe_multi": "funcgraph.multi",
    "kprobes": "funcgraph._engine",
    "load_ipython_extension": "funcgraph.notebook.extension",  # not in __all__: `%load_ext funcgraph`
    "open": "funcgraph.tracedata.opened:open_trace",
    "probed": "funcgraph.kprobe",
    "record": "funcgraph.session.block",
    "register_fprobe": "funcgraph.fprobe",
    "register_fprobe_ips": "funcgraph._engine",
    "register_fprobe_syms": "funcgraph.fprobe",
    "register_ftrace_graph": "funcgraph._engine",
    "register_kprobe": "funcgraph.kprobe",
    "register_kretprobe": "funcgraph.kretprobe",
    "registered": "funcgraph.fgraph",
    "registered_fprobe": "funcgraph.fprobe",
    "serve": "funcgraph.control.serving",
    "trace_event": "funcgraph.events.program_event",
    "trace_marker": "funcgraph.instance.marker",
    "trace_printk": "funcgraph._engine",
    "unload_ipython_extension": "funcgraph.notebook.extension",
    "unregister_fprobe": "funcgraph._engine",
    "unregister_fprobe_async": "funcgraph._engine",
    "unregister_ftrace_graph": "funcgraph._engine",
    "unregister_kprobe": "funcgraph._engine",
    "unregister_kretprobe": "funcgraph.kretprobe",
    "users": "funcgraph._engine",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    value: object
    if name == "__version__":
        from funcgraph.version import installed_version

        value = installed_version()
    elif name in _LAZY:
        from importlib import import_module

        module, _, attribute = _LAZY[name].partition(":")
        value = getattr(import_module(module), attribute or name)
        if name in ("Instance", "open", "record"):
            _register_html()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _register_html() -> None:
    """Have notebooks show traces. What makes the HTML is imported when a notebook asks for one."""
    from funcgraph import html_repr

    def trace_html(source: "str | bytes", name: str, title: str) -> str:
        from funcgraph.view import notebook_html

        return notebook_html.trace_html(source, name, title)

    html_repr.register(trace_html)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
