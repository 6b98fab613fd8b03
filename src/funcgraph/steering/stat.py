"""What differs from a new instance: the text of trace-cmd's `stat`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from funcgraph.settings.table import BY_FILE, BY_NAME
from funcgraph.steering.events import folder_of, triggers_in
from funcgraph.steering.folder import InstanceFolder, Process

__all__ = ["stat"]

#: The lists of functions, in trace-cmd's order -> their headings.
_FILTERS = {
    "set_ftrace_filter": "Function Filter",
    "set_ftrace_notrace": "Function No Trace",
    "set_graph_function": "Function Graph Filter",
    "set_graph_notrace": "Function Graph No Trace",
}
#: The lists of threads.
_THREADS = {
    "set_event_pid": "Filtered event PIDs",
    "set_event_notrace_pid": "Filtered notrace event PIDs",
    "set_ftrace_pid": "Filtered function tracer PIDs",
    "set_ftrace_notrace_pid": "Filtered notrace function tracer PIDs",
}
#: The definitions of events, which all instances share.
_DEFINITIONS = {"kprobe_events": "Kprobe events", "synthetic_events": "Synthetic events"}
_OTHER_DEFINITIONS = "Dynamic events"


def stat(folder: InstanceFolder, *, options: bool = False) -> str:
    """Return the status of an instance.

    Args:
        options: also all trace options.
    """
    parts: list[Callable[[InstanceFolder], Iterator[str]]] = [
        _tracer, _events, _event_filters, _event_triggers, _filters, _buffer, _numbers, _definitions,
        _threads,
    ]  # fmt: skip
    if options:
        parts.append(_options)
    parts += [_tracing_on, _error_log]
    lines = [line for part in parts for line in part(folder)]
    if folder.name:
        lines = [f"Instance: {folder.name}", *lines]
    else:
        lines += _instances(folder.process)
    return "".join(f"{line}\n" for line in lines)


def _tracer(folder: InstanceFolder) -> Iterator[str]:
    tracer = folder.value("current_tracer")
    if tracer != BY_NAME["tracer"].initial:
        yield from ("", f"Tracer: {tracer}")
    if folder.value("function_profile_enabled") != "0":
        yield from ("", "Function profiler is enabled")


def _events(folder: InstanceFolder) -> Iterator[str]:
    yield from ("", "Events:")
    names = folder.event_names()
    on = folder.read("set_event").split()
    if not on or len(on) == len(names):
        yield f" All {'enabled' if on else 'disabled'}"
        return
    groups = _by_group(names)
    whole = [group for group, events in _by_group(on).items() if events == groups.get(group)]
    if whole:
        yield " Individual systems:"
        yield from (f"   {group}" for group in whole)
    some = {group: events for group, events in _by_group(on).items() if group not in whole}
    if some:
        yield " Individual events:"
    for group, events in some.items():
        yield f"    {group}"
        yield from (f"        {event}" for event in events)


def _by_group(names: list[str]) -> dict[str, list[str]]:
    """Return the events of each group, in their order."""
    groups: dict[str, list[str]] = {}
    for name in names:
        group, _, event = name.partition(":")
        groups.setdefault(group, []).append(event)
    return {group: sorted(events) for group, events in groups.items()}


def _event_filters(folder: InstanceFolder) -> Iterator[str]:
    lines = folder.read("show_event_filters").splitlines()
    if lines:
        yield from ("", "Filters:")
    for line in lines:
        name, _, text = line.partition(" ")
        yield f'  {name} "{text.strip()}"'


def _event_triggers(folder: InstanceFolder) -> Iterator[str]:
    lines = folder.read("show_event_triggers").splitlines()
    names = dict.fromkeys(line.split()[0] for line in lines if line.strip())
    if names:
        yield from ("", "Triggers:")
    for name in names:
        triggers = "\n".join(triggers_in(folder.read(f"{folder_of(name)}/trigger")))
        yield f'  {name} "{triggers}"'


def _filters(folder: InstanceFolder) -> Iterator[str]:
    for file, heading in _FILTERS.items():
        lines = [line for line in folder.read(file).splitlines() if line and not line.startswith("#")]
        if lines:
            yield from ("", f"{heading}:")
        yield from (f"   {line}" for line in lines)


def _buffer(folder: InstanceFolder) -> Iterator[str]:
    size = folder.value("buffer_size_kb")
    if size != str(BY_NAME["buffer_kb"].initial):
        yield from ("", "Buffer size in kilobytes:", f"   {size}")


def _numbers(folder: InstanceFolder) -> Iterator[str]:
    """What trace-cmd shows of these if it is not the default, and what it leaves out though it matters."""
    for name, heading, unit in (
        ("clock", "Clock", ""),
        ("max_graph_depth", "Max graph depth", ""),
        ("thresh_us", "Threshold", " us"),
        ("values", "Levels of values", ""),
        ("string_size", "Bytes of a text", ""),
        ("redact", "Redacted", ""),
        ("max_latency_us", "Max Latency", ""),
    ):
        setting = BY_NAME[name]
        value = folder.value(setting.file)
        if value != str(setting.initial):
            yield from ("", f"{heading}: {value}{unit}")


def _definitions(folder: InstanceFolder) -> Iterator[str]:
    if folder.name:
        return
    shown: list[str] = []
    for file, heading in _DEFINITIONS.items():
        lines = folder.read(file).splitlines()
        shown += lines
        yield from _listed(heading, lines)
    others = [
        line for line in folder.read("dynamic_events").splitlines() if not line.startswith(("p", "r", "s"))
    ]
    yield from _listed(_OTHER_DEFINITIONS, others)


def _listed(heading: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"{heading}:")
    yield from (f"   {line}" for line in lines)


def _threads(folder: InstanceFolder) -> Iterator[str]:
    for file, heading in _THREADS.items():
        lines = folder.read(file).splitlines()
        if lines and lines != [BY_FILE[file].empty]:
            yield from ("", f"{heading}:", *lines)


def _options(folder: InstanceFolder) -> Iterator[str]:
    yield from ("", "Options:")
    yield from (f"   {word}" for word in option_words(folder))


def option_words(folder: InstanceFolder) -> list[str]:
    """Return the trace options of an instance, "no" before those that are off."""
    names = folder.names("options")
    return [name if folder.value(f"options/{name}") == "1" else f"no{name}" for name in names]


def _tracing_on(folder: InstanceFolder) -> Iterator[str]:
    state = "disabled" if folder.value("tracing_on") == "0" else "enabled"
    yield from ("", f"Tracing is {state}", "")


def _error_log(folder: InstanceFolder) -> Iterator[str]:
    text = folder.process.instance().read("error_log").strip()
    if text and not folder.name:
        yield from ("Error log:", text, "")


def _instances(process: Process) -> Iterator[str]:
    names = process.instances()
    if names:
        yield "Instances:"
    yield from (f" {name}" for name in names)
