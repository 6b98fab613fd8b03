"""Writes the reference part of docs/reference/api.md from the package's signatures and docstrings.

Usage: python -m tools.api_reference [--check]

The text before the first marker is written by hand. The text between the markers is generated from the stub
of the extension module and from the Python modules. --check fails if the page is out of date;
tests/test_docs.py runs it.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc

from tools.console import print_message
from tools.layout import ROOT
from tools.written_pages import update

PAGE = ROOT / "docs" / "reference" / "api.md"
BEGIN, END = "<!-- reference: written by python -m tools.api_reference -->", "<!-- end of reference -->"

_STUB, _GLUE, _KPROBE, _INCLUDE = "_engine.pyi", "fgraph.py", "kprobe.py", "_include.py"
_INSTANCE, _MARKER, _PROFILE = "instance/instance.py", "instance/marker.py", "instance/profile.py"
_FPROBE, _MULTI, _KRETPROBE = "fprobe.py", "multi.py", "kretprobe.py"
_OPENED, _EVENTS, _DESCRIPTION = "tracedata/opened.py", "tracedata/events.py", "tracedata/description.py"
# The sections of the reference, in order: heading -> (file of the package, names in it).
SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "Users": (
        (_STUB, "FgraphOps"),
        (_STUB, "register_ftrace_graph"),
        (_STUB, "unregister_ftrace_graph"),
        (_GLUE, "registered"),
        (_STUB, "users"),
        (_STUB, "User"),
        (_GLUE, "available_filter_functions"),
    ),
    "Fprobes": (
        (_STUB, "Fprobe"),
        (_FPROBE, "register_fprobe"),
        (_STUB, "register_fprobe_ips"),
        (_FPROBE, "register_fprobe_syms"),
        (_FPROBE, "registered_fprobe"),
        (_STUB, "unregister_fprobe"),
        (_STUB, "unregister_fprobe_async"),
        (_STUB, "enable_fprobe"),
        (_STUB, "disable_fprobe"),
        (_STUB, "fprobe_is_registered"),
        (_FPROBE, "fprobe_count_ips_from_filter"),
        (_STUB, "ReturnAddress"),
    ),
    "One handler on many functions": (
        (_MULTI, "kprobe_multi"),
        (_STUB, "KprobeMultiLink"),
        (_STUB, "KprobeMultiCtx"),
    ),
    "Kretprobes": (
        (_KRETPROBE, "Kretprobe"),
        (_KRETPROBE, "KretprobeInstance"),
        (_KRETPROBE, "register_kretprobe"),
        (_KRETPROBE, "unregister_kretprobe"),
        (_KRETPROBE, "enable_kretprobe"),
        (_KRETPROBE, "disable_kretprobe"),
    ),
    "The data of a call": (
        (_STUB, "GraphEnt"),
        (_STUB, "GraphRet"),
        (_STUB, "Function"),
        (_STUB, "ReturnLocation"),
        (_STUB, "FtraceRegs"),
        (_STUB, "InstructionPointer"),
        (_STUB, "PartialRegs"),
        (_STUB, "PerfSample"),
    ),
    "Probes at lines": (
        (_STUB, "Kprobe"),
        (_KPROBE, "register_kprobe"),
        (_STUB, "unregister_kprobe"),
        (_STUB, "enable_kprobe"),
        (_STUB, "disable_kprobe"),
        (_KPROBE, "probed"),
        (_STUB, "kprobes"),
        (_STUB, "KprobeRegs"),
    ),
    "The function profiler": (
        (_PROFILE, "FunctionProfile"),
        (_PROFILE, "ProfileRow"),
        (_STUB, "ProfileBase"),
    ),
    "Calls in progress": (
        (_STUB, "get_ret_stack"),
        (_STUB, "RetFrame"),
    ),
    "Instances": (
        (_INSTANCE, "Instance"),
        ("instance/control_files/files.py", "Files"),
        ("instance/pipe.py", "TracePipe"),
        ("instance/snapshot.py", "Snapshot"),
        (_INSTANCE, "instances"),
        (_MARKER, "TraceMarker"),
        (_MARKER, "TraceMarkerRaw"),
        (_STUB, "trace_printk"),
        ("session/dump_request.py", "ftrace_dump"),
    ),
    "Steering": (("control/serving.py", "serve"),),
    "Events": (
        ("definitions/typed.py", "Event"),
        ("events/program_event.py", "trace_event"),
        (_STUB, "TraceEvent"),
        ("events/registry.py", "Registry"),
        ("instance/events.py", "EventFile"),
        ("instance/events.py", "Events"),
    ),
    "Reading traces": (
        (_OPENED, "open_trace"),
        (_OPENED, "Trace"),
        (_EVENTS, "Event"),
        ("tracedata/calls.py", "Call"),
        (_EVENTS, "Columns"),
        ("tracedata/call_columns.py", "CallColumns"),
        ("tracedata/call_index.py", "CallIndex"),
        ("tracedata/call_index.py", "Lane"),
        ("tracedata/call_index.py", "FunctionCalls"),
        ("tracedata/call_index.py", "Span"),
        ("tracedata/call_index.py", "SpanColumns"),
        ("tracedata/call_index.py", "Mark"),
        ("tracedata/selection.py", "Selection"),
        ("tracedata/sql.py", "SqlRows"),
        (_DESCRIPTION, "Function"),
        (_DESCRIPTION, "EventType"),
        (_DESCRIPTION, "EventField"),
        (_DESCRIPTION, "Task"),
        (_DESCRIPTION, "Buffer"),
        ("tracedata/values.py", "PartialValue"),
        ("tracedata/values.py", "decode_values"),
        (_DESCRIPTION, "TraceError"),
        (_DESCRIPTION, "SelectionError"),
        ("tracedata/sql.py", "SqlError"),
    ),
    "Answers": (
        ("answers/values.py", "values"),
        ("answers/values.py", "FunctionValues"),
        ("answers/values.py", "ValueField"),
        ("answers/values.py", "ValueGroup"),
        ("answers/repeat.py", "repeat"),
        ("answers/repeat.py", "Repeats"),
        ("answers/repeat.py", "Repetition"),
        ("answers/repeat.py", "Cacheable"),
        ("answers/exceptions.py", "exceptions"),
        ("answers/exceptions.py", "Exceptions"),
        ("answers/exceptions.py", "ExceptionGroup"),
        ("answers/exceptions.py", "Raised"),
        ("answers/exceptions.py", "Frame"),
        ("answers/exceptions.py", "Earlier"),
        ("answers/facts.py", "Place"),
        ("answers/facts.py", "Counts"),
    ),
    "The state of tracing": ((_STUB, "capabilities"), (_STUB, "killed")),
    "Building extensions": ((_INCLUDE, "get_include"),),
}

# Class -> the file and name of a base class whose attributes it also has.
_BASES = {"Instance": ("instance/attributes.py", "FileAttributes")}

# Headings that are not the name in the file.
_HEADINGS = {
    (_OPENED, "open_trace"): "open",
    (_DESCRIPTION, "Function"): "tracedata.Function",
    (_EVENTS, "Event"): "tracedata.Event",
    ("events/registry.py", "Registry"): "dynamic_events",
}

Callable_ = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Item:
    """An entry with a heading: a class, a function or a method. `call` is its signature, if it has one."""

    name: str
    call: str
    docstring: str


class MissingError(LookupError):
    """A public name does not exist, or has no docstring."""


def _definitions(file: str) -> dict[str, ast.ClassDef | Callable_]:
    tree = ast.parse((ROOT / "src" / "funcgraph" / file).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef | Callable_)}


def _signature(node: Callable_, name: str) -> str:
    arguments = re.sub(r"^self(, /)?(, )?", "", ast.unparse(node.args))
    arguments = re.sub(r"(: [^=(]+)=", r"\1 = ", arguments)  # as ruff writes annotated defaults
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    return _wrapped(f"{name}({arguments})".replace(", /)", ")"), returns)


def _wrapped(call: str, returns: str) -> str:
    """Write a long signature with one argument per line."""
    if len(call + returns) <= 100:
        return call + returns
    parsed = ast.parse(f"def {call}: ...").body[0]
    assert isinstance(parsed, ast.FunctionDef)
    # Each argument as it is unparsed alone: commas in annotations do not matter then.
    arguments = parsed.args
    lines = [ast.unparse(one) for one in arguments.args]
    defaults = [ast.unparse(one) for one in arguments.defaults]
    for i, default in enumerate(defaults, len(lines) - len(defaults)):
        lines[i] += f" = {default}"
    lines += ["*"] if arguments.kwonlyargs else []
    for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        lines.append(ast.unparse(one) + (f" = {ast.unparse(value)}" if value else ""))
    return f"{parsed.name}(\n" + "".join(f"    {line},\n" for line in lines) + f"){returns}"


def _docstring(node: ast.ClassDef | Callable_, title: str) -> str:
    found = ast.get_docstring(node)
    if not found:
        raise MissingError(f"{title}: no docstring")
    return found


def _is_property(node: Callable_) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)


def _text_of(node: ast.stmt | None) -> str:
    """Return the string below an attribute, or an empty one."""
    value = node.value if isinstance(node, ast.Expr) else None
    return cleandoc(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _attributes(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Return name, type and docstring of annotated names and of properties."""
    below: list[ast.stmt | None] = [*node.body[1:], None]
    for at, text in zip(node.body, below, strict=True):
        if isinstance(at, ast.AnnAssign) and isinstance(at.target, ast.Name):
            if not at.target.id.startswith("_"):
                kind = re.sub(r"^Final\[(.*)\]$", r"\1", ast.unparse(at.annotation))
                yield at.target.id, kind, _text_of(text)
        elif isinstance(at, Callable_) and _is_property(at):
            kind = ast.unparse(at.returns) if at.returns else "object"
            yield at.name, kind, ast.get_docstring(at) or ""


def _described_elsewhere(file: str, node: ast.ClassDef) -> dict[str, str]:
    """What is said of attributes elsewhere: of the constructor's arguments, and of the call at its entry."""
    docstring = ast.get_docstring(node) or ""
    descriptions = {**_entries(docstring, "Args"), **_entries(docstring, "Attributes")}
    entry = _definitions(file).get("GraphEnt")
    if node.name in ("GraphRet", "RetFrame") and isinstance(entry, ast.ClassDef):
        descriptions.update({name: text for name, _, text in _attributes(entry)})
    return descriptions


def _attribute_list(file: str, node: ast.ClassDef) -> str:
    descriptions = _described_elsewhere(file, node)
    lines = []
    for name, kind, text in [*_attributes(node), *_inherited(node)]:
        words = _escaped(" ".join((text or descriptions.get(name, "")).split()))
        lines.append(f"- `{name}: {kind}`" + (f": {words}" if words else ""))
    return "\n".join(lines)


def _inherited(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    file, name = _BASES.get(node.name, ("", ""))
    base = _definitions(file).get(name) if file else None
    if isinstance(base, ast.ClassDef):
        yield from _attributes(base)


def _methods(node: ast.ClassDef) -> Iterator[Item]:
    for at in node.body:
        if isinstance(at, Callable_) and not at.name.startswith("_") and not at.decorator_list:
            yield Item(at.name, _signature(at, at.name), _docstring(at, f"{node.name}.{at.name}"))


def _constructor(node: ast.ClassDef) -> str:
    """Return the constructor's signature; empty if the class cannot be called."""
    for at in node.body:
        if isinstance(at, Callable_) and at.name == "__init__":
            return _signature(at, node.name)
    return ""


def _class_markdown(file: str, node: ast.ClassDef) -> Iterator[str]:
    heading = _HEADINGS.get((file, node.name), node.name)
    docstring, attributes = _docstring(node, node.name), _attribute_list(file, node)
    if attributes:  # what the docstring says of them is in that list
        before, _, section = docstring.partition("\n\nAttributes:\n")
        docstring = "\n\n".join((before, *section.split("\n\n")[1:]))
    yield _item_markdown(Item(heading, _constructor(node), docstring), 3)
    if attributes:
        yield f"Attributes:\n\n{attributes}"
    for method in _methods(node):
        yield _item_markdown(method, 4)


def _markdown_of(file: str, name: str) -> Iterator[str]:
    node = _definitions(file).get(name)
    if node is None:
        raise MissingError(f"{file}: there is no {name}")
    if isinstance(node, ast.ClassDef):
        yield from _class_markdown(file, node)
    else:
        heading = _HEADINGS.get((file, name), name)
        yield _item_markdown(Item(heading, _signature(node, heading), _docstring(node, name)), 3)


# ---- from a docstring to Markdown

_SECTION = re.compile(r"^(Args|Returns|Yields|Raises):(.*)$")
_ENTRY = re.compile(r"^    (\*{0,2}\w[\w., ]*): (.*)$")


def _escaped(text: str) -> str:
    """Escape asterisks outside of code, which Markdown would take for emphasis."""
    parts = text.split("`")
    return "`".join(part if i % 2 else part.replace("*", r"\*") for i, part in enumerate(parts))


def _markdown(docstring: str) -> str:
    """Convert a docstring: sections get a bold word and a list; indented examples stay unchanged."""
    lines: list[str] = []
    in_section = False
    for line in docstring.splitlines():
        section, entry = _SECTION.match(line), _ENTRY.match(line)
        if section:
            in_section = True
            lines += [f"**{section[1]}**:{section[2]}", *([] if section[2] else [""])]
        elif in_section and entry:
            lines.append(f"- `{entry[1]}`: {_escaped(entry[2])}")
        elif in_section and line.startswith("    "):
            lines.append(line[4:] if line.startswith("     ") else line.strip())
        else:
            in_section = in_section and not line
            lines.append(line if line.startswith("    ") else _escaped(line))
    return "\n".join(lines)


def _entries(docstring: str, section: str) -> dict[str, str]:
    """Return name -> text of what a section of a docstring explains."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in docstring.partition(f"\n{section}:\n")[2].splitlines():
        entry = _ENTRY.match(line)
        if entry:
            names = entry[1].split(", ")
            found.update(dict.fromkeys(names, entry[2]))
        elif line.startswith("        ") and names:
            found.update({name: f"{found[name]} {line.strip()}" for name in names})
        else:
            break
    return found


def _item_markdown(item: Item, level: int) -> str:
    code = f"```python\n{item.call}\n```\n\n" if item.call else ""
    return f"{'#' * level} `{item.name}`\n\n{code}{_markdown(item.docstring)}"


def reference() -> str:
    """Return the whole reference. MissingError: something public is not documented."""
    parts = []
    for heading, names in SECTIONS.items():
        parts.append(f"## {heading}")
        for file, name in names:
            parts += _markdown_of(file, name)
    return "\n\n".join(parts)


def page() -> str:
    """Return the page's own text with the generated reference."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{reference()}\n\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tools.api_reference", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="only say if the page is not what it has to be")
    arguments = parser.parse_args()
    try:
        text = page()
    except MissingError as error:
        print_message(f"api_reference: {error}")
        return 1
    command = "python -m tools.api_reference"
    return update({PAGE: text}, check=arguments.check, tool="api_reference", command=command)


if __name__ == "__main__":
    sys.exit(main())
