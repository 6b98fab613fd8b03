"""The table of dynamic events: what is added, deleted and listed, and what is not left behind.

What the kernel does in the same place is in test_kernel_definitions.py.
"""

from __future__ import annotations

import errno
import threading
from typing import Any

import pytest
from fake_installer import FakeInstaller, event_fields, parameters

from funcgraph.definitions import messages
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.messages import Message
from funcgraph.events.registry import AnyDefinition, Registry

pytestmark = pytest.mark.one_python


@pytest.fixture
def installer() -> FakeInstaller:
    return FakeInstaller()


@pytest.fixture
def registry(installer: FakeInstaller) -> Registry:
    return Registry(installer, None, parameters, event_fields)


def refused(registry: Registry, text: str, file: str = "dynamic_events", append: bool = True) -> ProbeError:
    with pytest.raises(ProbeError) as caught:
        registry.write(file, text, append)
    return caught.value


def test_a_definition_is_installed_and_removed_once(registry: Registry, installer: FakeInstaller) -> None:
    definition = registry.define("f:a vfs_read count:u32")
    assert list(installer.installed.values()) == list(registry) == [definition]
    registry.delete("-:a")
    assert (list(installer.installed), list(registry), len(registry)) == ([], [], 0)
    assert registry.read() == ""


@pytest.mark.parametrize(
    "line",
    [
        "f:a nosuch",
        "f:a vfs_read nosuch",
        "p:a vfs_read:7",
        "p:a vfs_read+7",
        "r:a nosuch",
        "e:a nosuch/event",
        "s:a nosuch x",
        "x:a vfs_read",
    ],
)
def test_a_refused_definition_leaves_nothing_behind(
    registry: Registry, installer: FakeInstaller, line: str
) -> None:
    error = refused(registry, line)
    assert (list(registry), installer.installed) == ([], {})
    assert f"{error.component}: error: {error.message}\n  Command: {line}\n" in registry.log.text()


@pytest.mark.parametrize(
    ("number", "kind", "message", "result"),
    [
        (errno.ENOENT, "p", messages.BAD_PROBE_ADDR, errno.EINVAL),
        (errno.EILSEQ, "p", messages.BAD_INSN_BNDRY, errno.EILSEQ),
        (errno.EILSEQ, "f", messages.BAD_INSN_BNDRY, errno.EINVAL),
        (errno.EADDRNOTAVAIL, "p", messages.NON_UNIQ_SYMBOL, errno.EINVAL),
        (errno.ENODEV, "e", messages.BAD_ATTACH_EVENT, errno.ENODEV),
        (errno.EEXIST, "p", messages.EVENT_EXIST, errno.EEXIST),
        (errno.EEXIST, "f", messages.EVENT_EXIST, errno.EINVAL),
        (errno.ENOSPC, "p", messages.FAIL_REG_PROBE, errno.ENOSPC),
        (errno.EINVAL, "p", messages.FAIL_REG_PROBE, errno.EINVAL),
        (errno.ENOSPC, "f", messages.FAIL_REG_PROBE, errno.EINVAL),
        (errno.E2BIG, "f", messages.TOO_MANY_ARGS, errno.E2BIG),
    ],
)
def test_what_an_installer_refuses_gets_the_kernels_text(
    number: int, kind: str, message: Message, result: int
) -> None:
    class Refusing(FakeInstaller):
        def install(self, definition: AnyDefinition, *, is_pending: bool = False) -> int:
            raise OSError(number, "the reason")

    registry = Registry(Refusing(), event_fields=event_fields)
    target = "sched/sched_switch" if kind == "e" else "vfs_read"
    error = refused(registry, f"{kind}:a {target} x=\\5")
    assert (error.message, error.errno, error.hint) == (message.text, result, "the reason")
    wrong = {messages.EVENT_EXIST: f"{kind}:a", messages.TOO_MANY_ARGS: "x="}.get(message, target)
    assert error.command[error.caret :].startswith(wrong)
    assert len(registry) == 0


def test_a_line_without_code(registry: Registry) -> None:
    error = refused(registry, "p:a vfs_read:7 count")
    assert (error.message, error.caret, error.hint) == (messages.BAD_LINE.text, 4, "lines with code: 42")
    registry.define("p:a vfs_read:42 count")
    assert registry.read("kprobe_events") == "p:kprobes/a vfs_read:42 count=count\n"


def test_a_synthetic_event_that_the_installer_refuses() -> None:
    class Refusing(FakeInstaller):
        def install(self, definition: AnyDefinition, *, is_pending: bool = False) -> int:
            raise OSError(errno.ENOSPC, "the reason")

    error = refused(Registry(Refusing()), "s:a int x")
    assert (error.errno, error.component, error.hint) == (errno.ENOSPC, "synthetic_events", "the reason")


def test_an_installers_own_error_stays_as_it_is(installer: FakeInstaller) -> None:
    """The filter of an event probe is compiled by the installer."""
    own = ProbeError(Message(errno.EINVAL, "Field not found"), "event filter parse error", "x == 1", 2)

    class Refusing(FakeInstaller):
        def install(self, definition: AnyDefinition, *, is_pending: bool = False) -> int:
            raise own

    registry = Registry(Refusing(), event_fields=event_fields)
    assert refused(registry, "e:a sched/sched_switch if x == 1") is own
    assert "event filter parse error: error: Field not found\n  Command: x == 1\n" in registry.log.text()


def test_each_file_lists_and_deletes_its_own_kinds(registry: Registry) -> None:
    registry.write("dynamic_events", "s:a u64 lat\np:b vfs_read\nf:c vfs_read\nr:d vfs_read")
    registry.write("kprobe_events", "p:e vfs_open")
    registry.write("synthetic_events", "f int x")
    assert registry.read("kprobe_events").splitlines() == [
        *("p:kprobes/b vfs_read", "r10:kprobes/d vfs_read", "p:kprobes/e vfs_open"),
    ]
    assert registry.read("synthetic_events").splitlines() == ["a\tu64 lat", "f\tint x"]
    assert [line.split()[0] for line in registry.read().splitlines()] == [
        *("s:synthetic/a", "p:kprobes/b", "f:fprobes/c", "r10:kprobes/d", "p:kprobes/e", "s:synthetic/f"),
    ]
    assert refused(registry, "-:a", "kprobe_events").errno == errno.ENOENT
    assert refused(registry, "f:x vfs_read", "kprobe_events").errno == errno.EINVAL
    assert refused(registry, "p", "kprobe_events").errno == errno.EINVAL
    assert len(registry.log) == 0  # the kernel logs none of these
    registry.clear("kprobe_events")
    registry.clear("synthetic_events")
    assert registry.read() == "f:fprobes/c vfs_read\n"


def test_several_lines_in_one_write(registry: Registry) -> None:
    text = "p:a vfs_read\n\n# a comment\np:b nosuch # behind\nf:c vfs_open\n-:nosuch\np:d vfs_write"
    error = refused(registry, text)
    assert (error.message, error.command) == (messages.BAD_PROBE_ADDR.text, "p:b nosuch")
    assert [definition.event for definition in registry] == ["a", "c", "d"]
    assert len(registry.log) == 1


def test_a_number_sign_in_a_key_begins_no_comment(registry: Registry) -> None:
    registry.write("dynamic_events", 'f:a vfs_read x=file["#1 a"] # a comment')
    assert registry.read() == 'f:fprobes/a vfs_read x=file["#1 a"]\n'
    registry.write("dynamic_events", '-:a vfs_read x=file["#1 a"]')
    assert len(registry) == 0


def test_a_truncating_write(registry: Registry, installer: FakeInstaller) -> None:
    registry.write("dynamic_events", "p:a vfs_read\nf:b vfs_read")
    registry.write("kprobe_events", "p:c vfs_read", append=False)
    assert [definition.event for definition in registry] == ["b", "c"]
    installer.in_use.add("fprobes/b")
    assert refused(registry, "p:d vfs_read", append=False).errno == errno.EBUSY
    assert [definition.event for definition in registry] == ["b", "c"]
    installer.in_use.clear()
    registry.write("dynamic_events", "", append=False)
    assert (len(registry), installer.installed) == (0, {})


def test_deleting_several_deletes_all_or_none(registry: Registry, installer: FakeInstaller) -> None:
    """The kernel deletes until it comes to one in use."""
    registry.write("dynamic_events", "p:g/a vfs_read\np:g/b vfs_read\np:h/b vfs_read")
    installer.in_use.add("h/b")
    assert refused(registry, "-:b").errno == errno.EBUSY
    assert len(registry) == len(installer.installed) == 3
    registry.delete("-:g/")
    assert [(definition.group, definition.event) for definition in registry] == [("h", "b")]


def test_one_of_several_probes_goes_while_the_event_is_in_use(
    registry: Registry, installer: FakeInstaller
) -> None:
    registry.write("dynamic_events", "f:a vfs_read\nf:a vfs_write\nf:a vfs_open")
    installer.in_use.add("fprobes/a")
    registry.delete("-:a vfs_write")
    assert refused(registry, "-:a").errno == errno.EBUSY
    registry.delete("-:a vfs_read")
    assert refused(registry, "-:a vfs_open").errno == errno.EBUSY
    assert registry.read() == "f:fprobes/a vfs_open\n"


def test_a_synthetic_event_with_a_probe_on_it_is_in_use(registry: Registry, installer: FakeInstaller) -> None:
    registry.write("dynamic_events", "s:syn u64 lat\ne:a synthetic/syn l=$lat\nt:b synthetic/syn lat")
    assert refused(registry, "!syn", "synthetic_events").errno == errno.EBUSY
    assert refused(registry, "-:synthetic/syn").errno == errno.EBUSY
    assert refused(registry, "", "synthetic_events", append=False).errno == errno.EBUSY
    removed = []
    remove = installer.remove

    def remove_noted(handle: int) -> None:
        removed.append(installer.installed[handle].event)
        remove(handle)

    installer.remove = remove_noted  # type: ignore[method-assign]
    registry.clear()
    assert removed == ["b", "a", "syn"]


def test_an_event_probe_needs_a_static_or_a_synthetic_event(registry: Registry) -> None:
    registry.write("dynamic_events", "f:fn vfs_read\ne:one sched/sched_switch")
    for base in ("fprobes/fn", "eprobes/one", "synthetic/syn"):
        assert refused(registry, f"e:a {base}").message == messages.BAD_ATTACH_EVENT.text


@pytest.mark.parametrize(
    ("first", "second", "message", "at"),
    [
        ("f:g/a vfs_read", "p:g/a vfs_read", messages.EVENT_EXIST, "p:g/a vfs_read"),
        ("e:a sched/sched_switch", "e:a sched/sched_switch", messages.EVENT_EXIST, "e:a sched/sched_switch"),
        ("f:g/a vfs_read", "t:g/a raise", messages.DIFF_PROBE_TYPE, "t:g/a raise"),
        ("f:a vfs_read x=file", "f:a vfs_open x=file:u8", messages.DIFF_ARG_TYPE, "x=file:u8"),
        ("f:a vfs_read x=pos:u8", "f:a vfs_open x=file:u8[2]", messages.DIFF_ARG_TYPE, "x=file:u8[2]"),
        ("s:a u64 x", "s:a u64 x", messages.SYNTH_EVENT_EXISTS, "a u64 x"),
        ("s:s u64 x", "s:synthetic/s u64 x", messages.SYNTH_EVENT_EXISTS, "s u64 x"),
        ("p:synthetic/a vfs_read", "s:a u64 x", messages.SYNTH_EVENT_EXISTS, "a u64 x"),
        (
            "p:a vfs_read",
            "f:sched/sched_switch vfs_read",
            messages.EVENT_EXIST,
            "f:sched/sched_switch vfs_read",
        ),
        ("f:a vfs_read x=file.a", "f:a vfs_read x=file.a", messages.SAME_PROBE, "f:a vfs_read x=file.a"),
    ],
)
def test_names_that_are_taken(registry: Registry, first: str, second: str, message: Message, at: str) -> None:
    registry.define(first)
    error = refused(registry, second)
    assert (error.message, error.command[error.caret :]) == (message.text, at)
    assert len(registry) == 1


def test_probes_of_one_event_may_fetch_from_different_places(registry: Registry) -> None:
    registry.write("dynamic_events", "f:a vfs_read x=file.a\nf:a vfs_read x=file.b\nf:a vfs_open x=path")
    assert len(registry) == 3


def test_the_lock_is_held_while_the_installer_works() -> None:
    """Broken by an installer that is called without the lock, or a second change that begins meanwhile."""
    held: list[bool] = []

    class Lock:
        depth = 0
        lock = threading.RLock()

        def __enter__(self) -> None:
            self.lock.acquire()
            Lock.depth += 1

        def __exit__(self, *_: Any) -> None:
            Lock.depth -= 1
            self.lock.release()

    class Noting(FakeInstaller):
        def install(self, definition: AnyDefinition, *, is_pending: bool = False) -> int:
            held.append(Lock.depth > 0)
            return super().install(definition)

        def remove(self, handle: int) -> None:
            held.append(Lock.depth > 0)
            super().remove(handle)

    registry = Registry(Noting(), lock=Lock())
    registry.write("dynamic_events", "f:a vfs_read\n-:a")
    registry.define("f:a vfs_read")
    registry.delete("-:a")
    registry.write("synthetic_events", "a int x\n!a")
    assert held == [True] * 6
    assert Lock.depth == 0
