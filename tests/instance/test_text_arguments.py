"""A text that an API cannot take is the exception that its documentation names, never an accident's."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sizes import TEXT_ARGUMENTS

import funcgraph
from funcgraph.events.files import FILES

pytestmark = pytest.mark.one_python


def work(amount: int) -> int:
    return amount


#: Words of all that is written as text, and what breaks parsers.
WORDS = [
    "", " ", "\t", "\n", "\0", "\r", "\x1c", "\x85", "\u2028", "\ud800", "\udc80", "é", "名", "%", "*", "?",
    "[", "]", "[a", "[!]", "!", "!!", "-", "-:", "!:", ":", "::", "/", "//", ".", "..", ",", ";", "=", "==",
    "=~", "~", "&&", "||", "(", ")", "((", '"', "'", '"a', "`", "\\", "#", "$", "@", "@0x1", "+", "+0(",
    "-1", "0", "1", "007", "1e9", "0x", "9" * 20, "9" * 5000, "18446744073709551616", "nan", "inf", "f",
    "f:", "p", "p:", "r", "r3", "e", "t", "s", "f:a/b", "p:a", "e:x/y", "work", "__main__.work",
    f"{work.__module__}.work", f"{work.__module__}.work:1", f"{work.__module__}.work%return", "*.work",
    "$arg1", "$retval", "$comm", "amount", "amount=$arg1", ":u64", ":string", ":x8[4]", ":nosuch",
    "py:raise", "py.raise", "raise", "type", "type == 'x'", "hist:", "hist:keys=type", "keys=",
    "keys=type:vals=hitcount", ":sort=hitcount", ":size=0", ":name=", ":onmax($x).trace(y,$z)",
    ":onmatch(py.raise)", ":ts0=common_timestamp.usecs", ".hex", ".buckets=0", ".log2", "snapshot",
    "traceon", "traceoff", ":unlimited", ":1", ":0", "stacktrace", "enable_event", "enable_event:py:raise",
    "disable_hist:py:raise", "if", " if a == 1", ":mod:", ":mod:x", "dump", "cpudump", "ls", "..a",
    "wakeup u64 a; char[] b", "int", "u64 a;", "; u64", "all", "none", "nop", "mono", "local", "sleep-time",
    "nosleep-time", "ftrace=", "trace_event=", "a" * 300, "(" * 3000, "[" * 3000, "!" * 3000, "a." * 1500,
    "a && " * 600, "*" * 60, "+0(" * 500, "key", "args", "A=B", "A/B.c=D/E.f", "5%", "x2", "> 3",
]  # fmt: skip


def some_text(chance: random.Random) -> str:
    """Return words in any order, mostly few, with what stands between them in one of the languages."""
    number = chance.choice([0, 1, 1, 2, 2, 3, 4, 6])
    return chance.choice(["", "", " ", ":", ",", "\n"]).join(chance.choice(WORDS) for _ in range(number))


REFUSED = (ValueError, OSError)
ApiCall = Callable[[funcgraph.Instance, str], object]


def _set(name: str) -> ApiCall:
    return lambda instance, text: setattr(instance, name, text)


def _closed(make: Callable[[str], Any]) -> ApiCall:
    return lambda instance, text: make(text).close()


def _event(name: str) -> ApiCall:
    return lambda instance, text: setattr(instance.events["py:raise"], name, text)


def _probed(instance: funcgraph.Instance, text: str) -> None:
    with funcgraph.probed(funcgraph.Kprobe(lambda *arguments: None, text, line=1)):
        pass


def _kretprobe(instance: funcgraph.Instance, text: str) -> None:
    probe = funcgraph.Kretprobe(lambda *arguments: None)
    funcgraph.register_kretprobe(probe, text)
    funcgraph.unregister_kretprobe(probe)


def _fprobe(instance: funcgraph.Instance, text: str) -> None:
    with funcgraph.registered_fprobe(funcgraph.Fprobe(lambda *arguments: None), text):
        pass


def _syms(instance: funcgraph.Instance, text: str) -> None:
    probe = funcgraph.Fprobe(lambda *arguments: None)
    funcgraph.register_fprobe_syms(probe, [text])
    funcgraph.unregister_fprobe(probe)


#: What takes text -> how, and the exceptions that its documentation names besides REFUSED.
CALLS: dict[str, tuple[ApiCall, tuple[type[Exception], ...]]] = {
    "Instance()": (_closed(funcgraph.Instance), ()),
    **{
        name: (_set(name), ())
        for name in (
            "current_tracer", "set_ftrace_filter", "set_ftrace_notrace", "set_graph_function",
            "set_graph_notrace", "trace_options", "trace_clock",
        )
    },
    "events[]": (lambda instance, text: instance.events[text], (KeyError,)),
    "filter": (_event("filter"), ()),
    "trigger": (_event("trigger"), ()),
    "write_trigger()": (lambda instance, text: instance.events["py:raise"].write_trigger(text), ()),
    "function_commands.add()": (lambda instance, text: instance.function_commands.add(text), ()),
    "function_commands.remove()": (lambda instance, text: instance.function_commands.remove(text), ()),
    "files[]": (lambda instance, text: instance.files[text], (KeyError,)),
    "dynamic_events.define()": (lambda instance, text: funcgraph.dynamic_events.define(text), ()),
    "dynamic_events.delete()": (lambda instance, text: funcgraph.dynamic_events.delete(text), ()),
    **{
        f"write({file})": (lambda instance, text, file=file: funcgraph.dynamic_events.write(file, text), ())
        for file in FILES
    },
    "available_filter_functions()": (lambda instance, text: funcgraph.available_filter_functions(text), ()),
    "fprobe_count_ips_from_filter()": (
        lambda instance, text: funcgraph.fprobe_count_ips_from_filter(text), ()
    ),
    "Kprobe()": (_probed, ()),
    "register_kretprobe()": (_kretprobe, ()),
    "register_fprobe()": (_fprobe, ()),
    "register_fprobe_syms()": (_syms, ()),
    "trace_printk()": (lambda instance, text: funcgraph.trace_printk(text), (TypeError,)),  # as % has
    "trace_marker.write()": (lambda instance, text: funcgraph.trace_marker.write(text), ()),
    "open()": (lambda instance, text: funcgraph.open(text), (funcgraph.TraceError,)),
}  # fmt: skip


#: Those that look for similar names among all functions, for the message: fewer tries.
SUGGESTING = {
    "Kprobe()", "fprobe_count_ips_from_filter()", "register_fprobe()", "register_fprobe_syms()",
    "register_kretprobe()",
}  # fmt: skip


@pytest.fixture
def clean() -> Iterator[None]:
    yield
    for instance in list(funcgraph.instances().values()):
        instance.close()
    funcgraph.dynamic_events.clear()


@pytest.mark.parametrize("name", CALLS)
def test_a_text_is_taken_or_refused_as_documented(name: str, clean: None) -> None:
    """Broken by dynamic_events.delete(""): IndexError."""
    call, documented = CALLS[name]
    tries = TEXT_ARGUMENTS // len(CALLS) // (20 if name in SUGGESTING else 1)
    for number in range(max(1, tries)):
        chance = random.Random(f"{name}{number}")
        text = WORDS[number] if number < len(WORDS) and name not in SUGGESTING else some_text(chance)
        if number % 50 == 0:
            for one in list(funcgraph.instances().values()):
                one.close()
            instance = funcgraph.Instance("texts")
        try:
            call(instance, text)
        except (*REFUSED, *documented) as error:
            assert str(error), text
        except Exception as error:
            raise AssertionError(f"{name} of {text[:200]!r}: {type(error).__name__}: {error}") from error


def files_that_take_text() -> list[str]:
    with funcgraph.Instance("files") as instance:
        return [name for name in instance.files if name not in ("buffer_size_kb", "buffer_subbuf_size_kb")]


@pytest.mark.parametrize("part", range(8))
def test_a_file_takes_a_text_or_refuses_it(part: int, clean: None) -> None:
    names = files_that_take_text()[part::8]
    for number in range(max(1, TEXT_ARGUMENTS // 8 // len(names))):
        for name in names:
            chance = random.Random(f"{name}{number}")
            text = some_text(chance)
            instance = funcgraph.instances().get("texts") or funcgraph.Instance("texts")
            try:
                instance.files.write(name, text, chance.random() < 0.5)
            except REFUSED as error:
                assert str(error)
            except Exception as error:
                raise AssertionError(f"{name} of {text[:200]!r}: {type(error).__name__}: {error}") from error
