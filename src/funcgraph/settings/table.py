"""The one table of settings and trace options.

A setting is a value of a recording or an instance: the tracer, the filters, the buffer's size. A trace
option is one of the kernel's switches in `trace_options`. The following are derived from the table, or
tests compare them with it:

- the flags of `funcgraph record` (command_support/record_settings.py) and their help
- the keywords of `funcgraph.record()` (session/block.py) and of `funcgraph.Instance` (instance/instance.py)
- the keys of a session's config file (session/options.py)
- the parameters of the variable FUNCGRAPH (instance/boot.py)
- the properties of Instance (instance/access.py) and the files that hold its values (instance/value_files.py)
- the engine's limits and flags (FG_INSTANCE_LIMITS and FG_INSTANCE_FLAGS) and the report's options
- the tables in docs/guides/instances.md, docs/guides/boot.md and docs/man/funcgraph-record.md

A new setting is one entry of SETTINGS, a new trace option one entry of OPTIONS; the tests in
tests/settings/ then name each place that lacks it.
"""

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "BY_FILE",
    "BY_NAME",
    "CHOICE",
    "ENDS_HAVE_NO_ARGUMENTS",
    "EVENTS",
    "EXCLUSIVE",
    "FLAG",
    "INSTANCE",
    "LIVE",
    "NAMES",
    "NAME_BYTES",
    "NUMBER",
    "OPTIONS",
    "PATTERNS",
    "RECORDING",
    "REDACT_BYTES",
    "SETTINGS",
    "SIZE",
    "TEXT",
    "THREADS",
    "TIME",
    "TOP",
    "WORDS",
    "Setting",
    "TraceOption",
]

# The kinds of settings.
FLAG = "flag"  # on or off
NUMBER = "number"  # a whole number from `least` to `most`
SIZE = "size"  # a number of bytes, also as text: 512K, 100M, 2G; 0: none
TIME = "time"  # a number of seconds, also as text: 30s, 5m, 2h; 0: none
CHOICE = "choice"  # one of a set of names that the engine or the trace writer knows
PATTERNS = "patterns"  # any number of filter patterns
THREADS = "threads"  # any number of native thread ids, each from `least` to `most`
EVENTS = "events"  # any number of events (events/recording_events.py)
WORDS = "words"  # trace options by name, "no" before the name: off
NAMES = "names"  # a list of names to read
TEXT = "text"  # any text

# Whose setting it is.
INSTANCE = "instance"  # of each instance of a recording, and of an Instance if it has a keyword or a file
RECORDING = "recording"  # of a recording as a whole
LIVE = "live"  # of an Instance alone: recordings do not have it

TOP = "top"  # the name of the instance whose files are in the root of tracefs
NAME_BYTES = 63  # the longest name of an instance, in UTF-8
REDACT_BYTES = 255  # the longest list of words whose values are left out, in UTF-8


class Setting:
    """One setting: a row of SETTINGS.

    Attributes:
        name: the keyword of funcgraph.record(), the key of the config file, and the engine's name.
        kind: FLAG, NUMBER, SIZE, TIME, CHOICE, PATTERNS, THREADS, EVENTS, WORDS, NAMES or TEXT.
        help: one sentence for a person, without a capital letter and a full stop.
        scope: INSTANCE, RECORDING or LIVE.
        default: the default of a recording; a tuple stands for any number of texts. 0 of a NUMBER that begins
            later, and "" of a CHOICE: what is best, as `help` says.
        least, most: the limits of a NUMBER, a SIZE or a TIME, or of each of the THREADS.
        unit: the unit of a NUMBER.
        flag: the flag of `funcgraph record`, and if it has a file, of `funcgraph start` and the like; of a
            LIVE one only of these; "": none.
        metavar: the name of the flag's value in the help.
        common: whether `--help` has the flag also where a command has so many that it leaves others to
            `--help-all`.
        values: CHOICE: each value that has a flag of its own, `--VALUE`, with the help of that flag.
        keyword: the keyword of funcgraph.Instance; "": none.
        initial: the default of that keyword; if not given, `default`.
        file: the kernel's name of the file in an instance's folder, and Instance's attribute; "": none.
        access: how the file can be used while the instance runs: "r", "w" or "rw".
        empty: PATTERNS, THREADS: the line that the file holds when the list is empty; "": none.
        boot: the kernel's boot parameter; "": none.
        boot_value: the name of the parameter's value in the documents.
    """

    __slots__ = (
        "access",
        "boot",
        "boot_value",
        "common",
        "default",
        "empty",
        "file",
        "flag",
        "help",
        "initial",
        "keyword",
        "kind",
        "least",
        "metavar",
        "most",
        "name",
        "scope",
        "unit",
        "values",
    )

    def __init__(
        self,
        name: str,
        kind: str,
        help: str,
        *,
        scope: str = INSTANCE,
        default: "Any" = None,
        least: int = 0,
        most: int = 0,
        unit: str = "",
        flag: str = "",
        metavar: str = "",
        common: bool = False,
        values: "dict[str, str] | None" = None,
        keyword: str = "",
        initial: "Any" = None,
        file: str = "",
        access: str = "rw",
        empty: str = "",
        boot: str = "",
        boot_value: str = "",
    ) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.scope = scope
        self.default = default
        self.least = least
        self.most = most
        self.unit = unit
        self.flag = flag
        self.metavar = metavar
        self.common = common
        self.values = values or {}
        self.keyword = keyword
        self.initial = default if initial is None else initial
        self.file = file
        self.access = access
        self.empty = empty
        self.boot = boot
        self.boot_value = boot_value

    def __repr__(self) -> str:
        return f"<Setting {self.name}, {self.kind}>"


_ALL_ENABLED = "#### all functions enabled ####"
_NONE_DISABLED = "#### no functions disabled ####"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "tracer",
        CHOICE,
        "the tracer, which says what is recorded of a call",
        default="function_graph",
        flag="-p",
        metavar="TRACER",
        keyword="tracer",
        initial="nop",
        file="current_tracer",
        boot="ftrace",
        boot_value="TRACER",
    ),
    Setting(
        "filter",
        PATTERNS,
        "only functions that match; can be given again",
        default=(),
        flag="-l",
        metavar="PATTERN",
        common=True,
        keyword="filter",
        file="set_ftrace_filter",
        empty=_ALL_ENABLED,
        boot="ftrace_filter",
        boot_value="PATTERN,...",
    ),
    Setting(
        "notrace",
        PATTERNS,
        "never functions that match; can be given again",
        default=(),
        flag="-n",
        metavar="PATTERN",
        common=True,
        keyword="notrace",
        file="set_ftrace_notrace",
        empty=_NONE_DISABLED,
        boot="ftrace_notrace",
        boot_value="PATTERN,...",
    ),
    Setting(
        "graph",
        PATTERNS,
        "only functions that match and all that they call; can be given again",
        default=(),
        flag="-g",
        metavar="PATTERN",
        common=True,
        keyword="graph",
        file="set_graph_function",
        empty=_ALL_ENABLED,
        boot="ftrace_graph_filter",
        boot_value="PATTERN,...",
    ),
    Setting(
        "native_under",
        PATTERNS,
        "only functions that match and all that they call, native functions, too; can be given again",
        default=(),
        flag="--native-under",
        metavar="PATTERN",
    ),
    Setting(
        "native_objects",
        PATTERNS,
        "with --native-under: native functions of the objects (libraries, C extensions) whose names match; "
        "can be given again (all but the interpreter and the libraries of C and C++)",
        default=(),
        flag="--objects",
        metavar="GLOB",
    ),
    Setting(
        "graph_notrace",
        PATTERNS,
        "neither functions that match nor what they call",
        scope=LIVE,
        default=(),
        flag="--graph-notrace",
        metavar="PATTERN",
        keyword="graph_notrace",
        file="set_graph_notrace",
        empty=_NONE_DISABLED,
        boot="ftrace_graph_notrace",
        boot_value="PATTERN,...",
    ),
    Setting(
        "tids",
        THREADS,
        "only calls in these threads",
        scope=LIVE,
        default=(),
        flag="--tid",
        metavar="TID",
        least=1,
        most=2**31 - 1,
        keyword="tids",
        file="set_ftrace_pid",
        empty="no pid",
    ),
    Setting(
        "notrace_tids",
        THREADS,
        "no calls in these threads",
        scope=LIVE,
        default=(),
        flag="--notrace-tid",
        metavar="TID",
        least=1,
        most=2**31 - 1,
        keyword="notrace_tids",
        file="set_ftrace_notrace_pid",
        empty="no pid",
    ),
    Setting(
        "event_tids",
        THREADS,
        "only events in these threads",
        scope=LIVE,
        default=(),
        flag="--event-tid",
        metavar="TID",
        least=1,
        most=2**31 - 1,
        file="set_event_pid",
    ),
    Setting(
        "event_notrace_tids",
        THREADS,
        "no events in these threads",
        scope=LIVE,
        default=(),
        flag="--event-notrace-tid",
        metavar="TID",
        least=1,
        most=2**31 - 1,
        file="set_event_notrace_pid",
    ),
    Setting(
        "max_graph_depth",
        NUMBER,
        "only the first N levels of calls; 0: all",
        default=0,
        most=(1 << 18) - 1,
        flag="--max-graph-depth",
        metavar="N",
        keyword="max_graph_depth",
        file="max_graph_depth",
        boot="ftrace_graph_max_depth",
        boot_value="N",
    ),
    Setting(
        "thresh_us",
        NUMBER,
        "only calls that take at least USEC microseconds; 0: all",
        default=0,
        most=1 << 40,
        unit="us",
        flag="--thresh",
        metavar="USEC",
        common=True,
        keyword="tracing_thresh",
        file="tracing_thresh",
        boot="tracing_thresh",
        boot_value="USEC",
    ),
    Setting(
        "events",
        EVENTS,
        "an event to record: 'f:NAME FUNCTION ARG...', as a line of dynamic_events, or the name of a static "
        "event, as py/raise; can be given again",
        default=(),
        flag="-e",
        metavar="EVENT",
        common=True,
        boot="kprobe_event",
        boot_value="DEFINITION;...",
    ),
    Setting(
        "enabled_events",
        EVENTS,
        "events to record",
        scope=LIVE,
        default=(),
        boot="trace_event",
        boot_value="EVENT,...",
    ),
    Setting(
        "event_triggers",
        EVENTS,
        "triggers of events",
        scope=LIVE,
        default=(),
        boot="trace_trigger",
        boot_value="EVENT.TRIGGER,...",
    ),
    # Before what records values: settings are made in this order, also of a running instance.
    Setting(
        "redact",
        TEXT,
        "never record the values whose names have one of these words in them: 'password|token'",
        default="",
        flag="--redact",
        metavar="WORDS",
        keyword="value_redact",
        file="value_redact",
        boot="value_redact",
        boot_value="WORDS",
    ),
    Setting("args", FLAG, "record the arguments of calls", default=False, flag="--args", common=True),
    Setting("retval", FLAG, "record the return values of calls", default=False, flag="--retval", common=True),
    Setting(
        "values",
        NUMBER,
        "record arguments and return values with their parts (items, attributes), so many levels of them; "
        "0: none",
        default=0,
        most=8,
        flag="--values",
        metavar="DEPTH",
        keyword="value_depth",
        file="value_depth",
        boot="value_depth",
        boot_value="N",
    ),
    Setting(
        "string_size",
        NUMBER,
        "bytes that are kept of each text; 0: 48, with --values 256",
        default=0,
        most=960,
        unit="bytes",
        flag="--string-size",
        metavar="N",
        keyword="value_string_size",
        file="value_string_size",
        boot="value_string_size",
        boot_value="N",
    ),
    Setting("retaddr", FLAG, "record where calls are made", default=False),
    Setting("places", FLAG, "record the line at which a caller makes a call", default=False),
    Setting("stack_trace", FLAG, "record the stack of callers of each call", default=False),
    Setting("event_stack", FLAG, "record the stack of callers of each event", default=False),
    Setting("no_repeats", FLAG, "record repeated calls once, with their number", default=False),
    Setting("no_sleep_time", FLAG, "leave time off the CPU out of durations", default=False),
    Setting("no_irqs", FLAG, "leave out signal handlers and what they call", default=False),
    Setting("no_brief", FLAG, "leave out C functions that are always brief", default=False),
    Setting(
        "c_calls",
        FLAG,
        "record C functions that recorded functions call",
        default=False,
        flag="--c-calls",
        common=True,
        keyword="c_calls",
    ),
    Setting(
        "buffer_kb",
        NUMBER,
        "size of each process's ring buffer",
        default=8192,
        least=32,
        most=1 << 30,
        unit="KiB",
        flag="-b",
        metavar="KB",
        keyword="buffer_size_kb",
        initial=1408,
        file="buffer_size_kb",
        boot="trace_buf_size",
        boot_value="SIZE",
    ),
    Setting(
        "mode",
        CHOICE,
        "what happens when the ring buffer is full",
        default="wait",
        values={
            "drop": "drop the newest events when the buffer is full",
            "overwrite": "overwrite the oldest events when the buffer is full (default: wait, lose nothing)",
        },
    ),
    Setting(
        "options",
        WORDS,
        "a trace option to turn on, or off with 'no' before its name; can be given again",
        default=(),
        flag="-O",
        metavar="OPTION",
        keyword="options",
        file="trace_options",
        boot="trace_options",
        boot_value="OPTION,...",
    ),
    Setting(
        "follow_fork",
        FLAG,
        "do not record child processes",
        scope=RECORDING,
        default=True,
        flag="--no-follow",
    ),
    Setting(
        "control",
        FLAG,
        "give the recorded processes a control socket, through which they can be steered while they run",
        scope=RECORDING,
        default=False,
        flag="--control",
    ),
    Setting(
        "why",
        FLAG,
        "record all that 'funcgraph why' tells apart: C functions, collections, waits for the GIL, tasks "
        "that are ready",
        scope=RECORDING,
        default=False,
        flag="--why",
    ),
    Setting(
        "clock",
        CHOICE,
        "the clock of the trace's times",
        scope=RECORDING,
        default="mono",
        flag="-C",
        metavar="CLOCK",
        file="trace_clock",
        boot="trace_clock",
        boot_value="CLOCK",
    ),
    Setting(
        "max_size",
        SIZE,
        "end the recording when it has written so much; the program goes on",
        scope=RECORDING,
        default=0,
        least=1 << 16,
        most=1 << 50,
        unit="bytes",
        flag="--max-size",
        metavar="SIZE",
    ),
    Setting(
        "max_time",
        TIME,
        "end the recording after so long; the program goes on",
        scope=RECORDING,
        default=0,
        least=1,
        most=1 << 31,
        unit="s",
        flag="--max-time",
        metavar="TIME",
    ),
    Setting(
        "rotate",
        SIZE,
        "begin another file whenever one has this size; FILE is the newest, then FILE.1, FILE.2",
        scope=RECORDING,
        default=0,
        least=1 << 16,
        most=1 << 50,
        unit="bytes",
        flag="--rotate",
        metavar="SIZE",
    ),
    Setting(
        "ring",
        SIZE,
        "keep the latest events in so much memory, and write them to FILE only for a reason: SIGUSR2, "
        "funcgraph.ftrace_dump(), a crash, an exit status other than 0",
        scope=RECORDING,
        default=0,
        least=1 << 19,
        most=1 << 40,
        unit="bytes",
        flag="--ring",
        metavar="SIZE",
    ),
    Setting(
        "keep",
        NUMBER,
        "with --rotate or --ring: how many files are kept",
        scope=RECORDING,
        default=5,
        least=1,
        most=100000,
        flag="--keep",
        metavar="N",
    ),
    Setting(
        "file_version",
        NUMBER,
        "version of a trace.dat: 7 (compressed, the default) or 6",
        scope=RECORDING,
        default=0,
        least=6,
        most=7,
        flag="--file-version",
        metavar="N",
    ),
    Setting(
        "compression",
        CHOICE,
        "compression of a trace.dat of version 7, if not the best that this system has",
        scope=RECORDING,
        default="",
        flag="--compression",
        metavar="C",
    ),
    Setting("tracing_on", FLAG, "whether the tracer records", scope=LIVE, default=True, file="tracing_on"),
    Setting(
        "max_latency_us",
        NUMBER,
        "the longest time that a latency tracer has seen; 0: start again",
        scope=LIVE,
        default=0,
        most=1 << 40,
        unit="us",
        file="tracing_max_latency",
    ),
    Setting(
        "profile",
        FLAG,
        "whether the function profiler counts",
        scope=LIVE,
        default=False,
        file="function_profile_enabled",
    ),
    Setting("tracers", NAMES, "the tracers", scope=LIVE, file="available_tracers", access="r"),
    Setting(
        "buffer_total_kb",
        NUMBER,
        "size of the buffer, which all threads share",
        scope=LIVE,
        unit="KiB",
        file="buffer_total_size_kb",
        access="r",
    ),
    Setting(
        "alloc_snapshot",
        FLAG,
        "have the memory of the snapshot from the start",
        scope=LIVE,
        default=False,
        boot="alloc_snapshot",
    ),
    Setting(
        "dump",
        TEXT,
        "where the trace goes when the program ends",
        scope=LIVE,
        default="",
        boot="ftrace_dump_on_exit",
        boot_value="FILE",
    ),
)

BY_NAME: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}
BY_FILE: dict[str, Setting] = {setting.file: setting for setting in SETTINGS if setting.file}


class TraceOption:
    """One trace option: a row of OPTIONS. Its file is options/NAME.

    What a report shows for it, and by default, is in FG_REPORT_OPTIONS (report_style.h).

    Attributes:
        name: the kernel's name.
        initial: whether it is on in a new instance: the kernel's default.
        tracer: the tracer that it belongs to; "": every tracer has it.
        records: the setting that has the engine record what the option shows, and the option's value
            that turns the setting on; None: the option changes nothing that is recorded.
            FG_INSTANCE_FLAGS in C.
    """

    __slots__ = ("initial", "name", "records", "tracer")

    def __init__(
        self, name: str, initial: bool, tracer: str, records: "tuple[str, bool] | None" = None
    ) -> None:
        self.name = name
        self.initial = initial
        self.tracer = tracer
        self.records = records

    def __repr__(self) -> str:
        return f"<TraceOption {self.name}>"


_GRAPH, _FUNCTION, _ALL = "function_graph", "function", ""

OPTIONS: dict[str, TraceOption] = {
    option.name: option
    for option in (
        TraceOption("overwrite", True, _ALL),
        TraceOption("display-graph", False, _ALL),
        TraceOption("stacktrace", False, _ALL, ("event_stack", True)),
        TraceOption("event-fork", False, _ALL),
        TraceOption("function-fork", False, _ALL),
        TraceOption("funcgraph-cpu", True, _GRAPH),
        TraceOption("funcgraph-overhead", True, _GRAPH),
        TraceOption("funcgraph-proc", False, _GRAPH),
        TraceOption("funcgraph-duration", True, _GRAPH),
        TraceOption("funcgraph-abstime", False, _GRAPH),
        TraceOption("funcgraph-irqs", True, _GRAPH, ("no_irqs", False)),
        TraceOption("funcgraph-tail", False, _GRAPH),
        TraceOption("funcgraph-overrun", False, _GRAPH),
        TraceOption("funcgraph-args", False, _GRAPH, ("args", True)),
        TraceOption("funcgraph-retaddr", False, _GRAPH, ("retaddr", True)),
        TraceOption("funcgraph-retval", False, _GRAPH, ("retval", True)),
        TraceOption("funcgraph-retval-hex", False, _GRAPH),
        TraceOption("sym-offset", False, _ALL, ("places", True)),
        TraceOption("func-args", False, _FUNCTION, ("args", True)),
        TraceOption("func_stack_trace", False, _FUNCTION, ("stack_trace", True)),
        TraceOption("func-no-repeats", False, _FUNCTION, ("no_repeats", True)),
        TraceOption("sleep-time", True, _GRAPH, ("no_sleep_time", False)),
        TraceOption("graph-time", True, _GRAPH),
        TraceOption("brief-calls", True, _ALL, ("no_brief", False)),
    )
}

# Two options that cannot be on together, as in the kernel: repeats are counted without looking at
# arguments.
EXCLUSIVE = ("func-args", "func-no-repeats")

#: Why `--thresh` and `--args` cannot be given together: a call turns out to be long when it ends.
ENDS_HAVE_NO_ARGUMENTS = (
    "cannot be given together with --args: a call is recorded when it ends, without its arguments; "
    "--retval records its result"
)
