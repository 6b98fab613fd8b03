"""`with funcgraph.record(...)`: recording a block of the running program.

The program writes its ring buffer; a recorder process (background.py) drains it. The recorder is not a
child of the program: os.wait() does not see it, it shares neither terminal nor standard streams, and it
outlives a program that is killed. The two communicate through a pair of pipes:

    program                               recorder
    one line of JSON: what to record  ->
                                      <-  one line of JSON: {"session": DIRECTORY} or {"error": ...}
    ... the block runs ...
    "end\n", "end EXCEPTION\n",
    or the pipe's end                 ->
                                      <-  one line of JSON: {"totals": ..., "warnings": [...]}
                                          or {"error": ...}
"""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from funcgraph.definitions.typed import Event, line_of
from funcgraph.names import did_you_mean
from funcgraph.session import environ, tracing
from funcgraph.session.check import check, check_file, recorded
from funcgraph.session.options import DEFAULTS, RECORDING
from funcgraph.session.output import DEFAULT_OUTPUT, check_output
from funcgraph.session.why import add_why
from funcgraph.settings.table import BY_NAME, EVENTS, PATTERNS

__all__ = ["RecordBlock", "record"]

_MODULE = "funcgraph.recorder.background"


class RecordBlock:
    """A recording of a block: `record` makes it, a `with` statement runs it.

    Attributes:
        output: absolute path of the trace.
        totals: after the block: records, bytes, lost, damaged, overrun, waits, wait_ns, tasks, processes,
            functions.
    """

    def __init__(self, output: str, settings: dict[str, Any]) -> None:
        self.output = output
        self.totals: dict[str, int] = {}
        self._settings = settings
        self._recorder: _RecorderProcess | None = None
        self._handles: list[int] = []
        self._pid = 0

    def __repr__(self) -> str:
        state = "in progress" if self._recorder else "complete" if self.totals else "not started"
        return f"<funcgraph.RecordBlock {self.output!r}, {state}>"

    def _repr_html_(self) -> str | None:
        from funcgraph.html_repr import trace_html  # only now: a notebook calls this

        return trace_html(self.output, "", repr(self)) if self.totals and not self._recorder else None

    def __enter__(self) -> RecordBlock:
        """Start the recorder process, then the recording.

        Raises:
            FileNotFoundError, PermissionError, OSError: the trace or the session's directory cannot be
            written. RuntimeError: no hook is free, the recorder process did not start, or this recording
            is in progress already.
        """
        if self._recorder is not None:
            raise RuntimeError("this recording is in progress: make another one with funcgraph.record()")
        self.output = check_output(self.output)
        recorder = _RecorderProcess(
            {"output": self.output, "settings": self._settings, "command": _command_line()}
        )
        self._recorder, self._pid = recorder, os.getpid()
        try:
            if self._settings["follow_fork"]:
                environ.join(recorder.session)
            for instance in self._settings["instances"]:
                self._handles.append(tracing.start(recorder.session, self._settings, self._here(instance)))
        except BaseException:
            self._stop()
            self._recorder = None
            environ.leave(recorder.session)
            recorder.abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop recording and wait until the trace is complete. An exception of the block propagates.

        Raises:
            OSError: the trace could not be written (only if the block raised nothing).
        """
        self._stop()
        recorder, self._recorder = self._recorder, None
        assert recorder is not None
        environ.leave(recorder.session)
        if os.getpid() != self._pid:
            recorder.close()  # a fork's child left the block; the recording belongs to its parent
            return
        try:
            answer = recorder.end(_failure(kind, error))
        except (OSError, RuntimeError) as failure:
            if error is None:
                raise
            self._warn(str(failure))
            return
        self.totals = answer["totals"]
        for text in answer["warnings"]:
            self._warn(text)

    def _warn(self, text: str) -> None:
        """Say what a recording that has ended lacks. It is no error of the block."""
        warnings.warn(f"funcgraph: {text}", RuntimeWarning, stacklevel=3)

    def _here(self, instance: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of an instance in this process. Others get what the recording has."""
        # Our own __exit__ is in progress when the recording stops.
        return {**instance, "notrace": [*instance["notrace"], "funcgraph.session.*"]}

    def _stop(self) -> None:
        tracing.stop(self._handles)


def record(
    output: str | os.PathLike[str] = DEFAULT_OUTPUT,
    *,
    tracer: str = "function_graph",
    filter: Iterable[str] = (),
    notrace: Iterable[str] = (),
    graph: Iterable[str] = (),
    native_under: Iterable[str] = (),
    native_objects: Iterable[str] = (),
    max_graph_depth: int = 0,
    thresh_us: int = 0,
    events: Iterable[str | Event] = (),
    redact: str = "",
    args: bool = False,
    retval: bool = False,
    values: int = 0,
    string_size: int = 0,
    retaddr: bool = False,
    places: bool = False,
    stack_trace: bool = False,
    event_stack: bool = False,
    no_repeats: bool = False,
    no_sleep_time: bool = False,
    no_irqs: bool = False,
    no_brief: bool = False,
    c_calls: bool = False,
    buffer_kb: int = 8192,
    mode: str = "wait",
    options: Iterable[str] = (),
    follow_fork: bool = True,
    control: bool = False,
    why: bool = False,
    clock: str = "mono",
    max_size: int | str = 0,
    max_time: int | str = 0,
    rotate: int | str = 0,
    ring: int | str = 0,
    keep: int = 5,
    file_version: int = 0,
    compression: str = "",
    instances: Mapping[str, Mapping[str, Any]] | None = None,
) -> RecordBlock:
    """Record the calls made in a `with` block, in all threads and in children started meanwhile.

    Args:
        output: the trace to write; an existing one is replaced when the block ends. A name that ends with
            .dat makes a trace.dat, for trace-cmd and KernelShark.
        tracer: "function_graph" (calls with their durations), "function" (calls only), "nop", or a latency
            tracer: "loopblock", "wakeup", "gilwait" (the sections that it keeps).
        filter: only functions that match one of these patterns: globs over module.qualname, or :mod:NAME.
        notrace: never functions that match one of these.
        graph: only functions that match one of these, and all that they call.
        native_under: as graph, and native functions are recorded there, too.
        native_objects: with native_under: native functions of the objects (libraries, C extensions) whose
            names match one of these globs; empty: of all but the interpreter and the libraries of C and C++.
        max_graph_depth: how many levels of calls to record, from the outermost; 0: all.
        thresh_us: only calls that take at least so many microseconds; 0: all.
        events: events to record besides calls, each a funcgraph.Event or a line of dynamic_events. ` if
            FILTER` behind a line chooses its hits: "f:shop/co shop.checkout amount user=order.user.name if
            amount > 1000". A further line of the text is a trigger: "traceoff:1 if amount < 0". With
            tracer="nop" nothing else is recorded. Events that do not exist yet exist for the block.
        redact: words with "|" between them, as "password|token": of an argument, attribute or dict entry
            whose name has one of them in it, in whatever case, the value is not recorded, nor is the result
            of such a function. A word with `*`, `?` or `[` is a glob over the whole name.
        args: record arguments too; this runs no code of the program.
        retval: record return values too, in the same way.
        values: record arguments and return values with so many levels of their parts: items of containers,
            attributes of instances, arguments of exceptions; also dates, Decimal, paths, members of
            enumerations as text. 0: no parts.
        string_size: how many bytes of each text are kept, at most 960; 0: 48, with values 256.
        retaddr: record where calls are made (funcgraph-retaddr). "function_graph" only.
        places: record the line at which the caller makes each call (sym-offset). "function" only.
        stack_trace: record the stack of callers of each call (func_stack_trace). "function" only.
        event_stack: record the stack of callers of each event (stacktrace).
        no_repeats: record repeated calls once, with their number (func-no-repeats; not together with args).
            "function" only.
        no_sleep_time: durations without the time that the thread slept or waited (nosleep-time; this costs
            a system call at each entry and return). "function_graph" only.
        no_irqs: neither signal handlers nor what they call (nofuncgraph-irqs). "function_graph" only.
        no_brief: with c_calls: no C functions that take little time at each call, as `len` (nobrief-calls).
        c_calls: record C functions that recorded functions call.
        buffer_kb: size of each process's ring buffer, in KiB.
        mode: what happens when the buffer is full: "wait" for the recorder (nothing is lost), "drop" the
            newest, "overwrite" the oldest.
        options: trace options, as `funcgraph report -O` takes them: how the report shows the trace unless
            told otherwise. Some also say what is recorded: "funcgraph-args", "func-args",
            "funcgraph-retval", "funcgraph-retaddr", "sym-offset", "func_stack_trace", "stacktrace",
            "func-no-repeats", "nosleep-time", "nofuncgraph-irqs", "nobrief-calls".
        follow_fork: record child processes too.
        control: give each child process a control socket. This process has one if it calls serve().
        why: record all that `funcgraph why` tells apart: C functions, collections, waits for the interpreter
            lock, and how long asyncio's tasks are ready before they run.
        clock: the trace's clock: "mono" (CLOCK_MONOTONIC), "boot" (includes the time that the machine was
            suspended), "mono_raw" (not slewed), "tai"; "local", "global" and "perf" are other names of
            "mono"; "uptime", "x86-tsc", "counter" count hundredths of a second, cycles, events.
        max_size: end the recording when it has written so much: bytes, or "512K", "100M", "2G". The trace is
            complete then, and the block goes on untraced. 0: no bound.
        max_time: end it after so many seconds, or "30s", "5m", "2h". 0: no bound.
        rotate: begin another file whenever one has this size. `output` is the newest complete one,
            output.1 the one before, and so on. 0: one file.
        ring: keep the latest events in so much memory. They are written to `output` only if the block raises,
            a process dies of a signal, the program calls ftrace_dump(), or the recorder gets SIGUSR2; an
            older trace of that name becomes output.1. Not together with rotate, max_size. 0: do not.
        keep: with rotate or ring: how many files are kept.
        file_version: of a trace.dat: 7 (compressed) or 6, which also the oldest trace-cmd reads. 0: 7.
        compression: of a trace.dat of version 7: "zstd", "zlib" or "none". "": the best that this system has.
        instances: name -> any of the keywords from `tracer` to `options`: further instances, which record
            at the same time, each into a buffer of its own in the trace. The keywords themselves configure
            the top instance; if all have their defaults, there is none.

    Returns:
        A context manager; after the block its `totals` have the figures.

    Raises:
        ValueError: an invalid pattern (with column and reason), tracer, mode, option, clock, name, number,
            size, time, compression; a setting that does not go with the name of the trace.
        TypeError: a single str where several patterns are needed; a keyword that an instance does not have.
        Entering and leaving the block raises OSError and RuntimeError; see RecordBlock.

    Example:
        with funcgraph.record("parse.fg", filter=["json.*"], args=True) as recording:
            json.loads(text)
        print(recording.totals["records"])

    The semantics are those of the kernel's function_graph tracer (Documentation/trace/ftrace.rst).
    """
    given_keywords = locals()  # the keywords are those of the table of settings
    top = {name: given_keywords[name] for name in DEFAULTS}
    named = [_instance(name, keywords) for name, keywords in (instances or {}).items()]
    given = _instance("", top)
    if not named or any(given[name] != _own(default) for name, default in DEFAULTS.items()):
        named.insert(0, given)
    settings = {name: given_keywords[name] for name in RECORDING} | {"instances": named}
    add_why(settings)
    check(settings)
    check_file(settings, os.fspath(output))
    for instance in named:
        instance.update(recorded(instance))
    return RecordBlock(os.path.abspath(output), settings)


_LISTS = {PATTERNS: "patterns", EVENTS: "definitions"}


def _own(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _instance(name: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instance's settings. Raises TypeError."""
    unknown = [word for word in keywords if word not in DEFAULTS]
    if unknown:
        allowed = ", ".join(DEFAULTS) + did_you_mean(unknown[0], DEFAULTS)
        words = ", ".join(map(repr, unknown))
        raise TypeError(f"instance {name!r} has no option {words}: must be one of {allowed}")
    instance = {"name": name}
    for option, default in DEFAULTS.items():
        value = keywords.get(option, default)
        if isinstance(default, tuple):
            if isinstance(value, str):
                what = _LISTS.get(BY_NAME[option].kind, "words")
                raise TypeError(f"{option} must be a list of {what}, not one str: [{value!r}]")
            value = list(map(line_of, value)) if BY_NAME[option].kind == EVENTS else list(value)
        instance[option] = value
    return instance


def _failure(kind: type[BaseException] | None, error: BaseException | None) -> str:
    """Return the name of the exception that ends a block; "" if none does, as sys.exit(0) does not."""
    if kind is None or (isinstance(error, SystemExit) and not error.code):
        return ""
    return kind.__name__


def _command_line() -> list[str]:
    return [str(word) for word in getattr(sys, "argv", [])]


class _RecorderProcess:
    """The program's end of the pipes to its recorder process.

    Args:
        request: output, settings and command, for background.py.

    Raises:
        OSError, RuntimeError: the recorder process could not start, or reports an error.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        if not sys.executable:
            raise RuntimeError("cannot start a recorder process: sys.executable is empty")
        request_read, self._requests = os.pipe()
        self._answers, answer_write = os.pipe()
        package_folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        code = f"import sys; sys.path.append(sys.argv.pop(1)); from {_MODULE} import main; main()"
        try:
            # The empty variables keep the recorder itself from being traced.
            launcher = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-c",
                    code,
                    package_folder,
                    str(request_read),
                    str(answer_write),
                    str(os.getpid()),
                ],
                env={**os.environ, environ.VARIABLE: "", environ.BOOT_VARIABLE: ""},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(request_read, answer_write),
                start_new_session=True,
            )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(request_read)
            os.close(answer_write)
        launcher.wait()  # it forks the recorder and ends at once, so the program's os.wait() finds no child
        try:
            self._send(request)
            self.session: str = self._receive()["session"]
        except BaseException:
            self.close()
            raise

    def end(self, failure: str = "") -> dict[str, Any]:
        """Tell the recorder that the block has ended; return its figures when the trace is complete.

        Args:
            failure: the name of the exception that ended it.
        """
        try:
            os.write(self._requests, f"end {failure}".strip().encode("ascii", "backslashreplace") + b"\n")
            return self._receive()
        except BrokenPipeError:
            raise RuntimeError(
                "the recorder process was killed: 'funcgraph recover' makes a trace of what it left"
            ) from None
        finally:
            self.close()

    def abandon(self) -> None:
        """End a recording that did not start: no trace is written."""
        try:
            os.write(self._requests, b"abandon\n")
            self._receive()
        except (OSError, RuntimeError):
            pass  # the error that led here matters more
        finally:
            self.close()

    def close(self) -> None:
        """Close our ends of the pipes."""
        os.close(self._requests)
        os.close(self._answers)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._requests, data) :]

    def _receive(self) -> dict[str, Any]:
        data = b""
        while not data.endswith(b"\n"):
            piece = os.read(self._answers, 65536)
            if not piece:
                raise RuntimeError(
                    "the recorder process ended without an answer: "
                    "'funcgraph recover' makes a trace of what it left"
                )
            data += piece
        answer: dict[str, Any] = json.loads(data)
        if "error" in answer:
            raise _error_from(answer["error"])
        return answer


def _error_from(error: dict[str, Any]) -> Exception:
    """Return the recorder process's exception, as its own built-in type."""
    kind = getattr(builtins, error["type"], None)
    if isinstance(kind, type) and issubclass(kind, OSError):
        return OSError(error["errno"], error["text"], error["filename"])  # OSError picks the subclass
    return RuntimeError(f"{error['type']}: {error['text']}")
