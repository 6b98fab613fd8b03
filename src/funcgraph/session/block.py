"""`with funcgraph.record(...)`: recording a block of the running program.

The program writes its ring buffer; a recorder process drains it (background.py). That is no child of the
program's: it does not show in os.wait(), shares no terminal and no standard streams, and outlives the program
if that is killed. The two talk through a pair of pipes:

    program                               recorder
    one line of JSON: what to record  ->
                                      <-  one line of JSON: {"session": DIRECTORY} or {"error": ...}
    ... the block runs ...
    "end\n", or the pipe's end        ->
                                      <-  one line of JSON: {"totals": ..., "warnings": [...]} or {"error":
                                      ...}
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

from funcgraph import _engine
from funcgraph.session import environ
from funcgraph.session.check import check, record_options
from funcgraph.session.options import DEFAULTS, RECORDING, engine_keywords
from funcgraph.session.output import check_output
from funcgraph.settings.table import BY_NAME, PATTERNS

__all__ = ["RecordBlock", "record"]

_MODULE = "funcgraph.session.background"


class RecordBlock:
    """A recording of a block; `record` makes it, `with` runs it.

    Attributes:
        output: absolute path of the trace.
        totals: after the block: records, bytes, lost, overrun, waits, wait_ns, tasks, processes, functions.
    """

    def __init__(self, output: str, settings: dict[str, Any]) -> None:
        self.output = output
        self.totals: dict[str, int] = {}
        self._settings = settings
        self._recorder: _RecorderProcess | None = None
        self._handles: list[int] = []
        self._pid = 0

    def __enter__(self) -> RecordBlock:
        """Start the recorder process, then the recording.

        Raises:
            FileNotFoundError, PermissionError, OSError: the trace or the session's directory cannot be
            written. RuntimeError: no hook is free, the recorder process did not start, or the block is
            running already.
        """
        if self._recorder is not None:
            raise RuntimeError("this recording runs already; make another one with funcgraph.record()")
        check_output(self.output)
        recorder = _RecorderProcess(
            {"output": self.output, "settings": self._settings, "command": _command_line()}
        )
        self._recorder, self._pid = recorder, os.getpid()
        try:
            if self._settings["follow_fork"]:
                environ.join(recorder.session)
            for instance in self._settings["instances"]:
                # Our own __exit__ has begun by the time the recording stops.
                own = {**instance, "notrace": [*instance["notrace"], "funcgraph.session.*"]}
                self._handles.append(_engine.start(recorder.session, **engine_keywords(self._settings, own)))
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
        """Stop recording and wait until the trace is complete. An exception of the block's goes on its way.

        Raises:
            OSError: the trace could not be written (only if the block raised nothing).
        """
        self._stop()
        recorder, self._recorder = self._recorder, None
        assert recorder is not None
        environ.leave(recorder.session)
        if os.getpid() != self._pid:
            recorder.close()  # a fork's child left the block too; the recording is its parent's
            return
        try:
            answer = recorder.end()
        except (OSError, RuntimeError) as failure:
            if error is None:
                raise
            warnings.warn(f"funcgraph: {failure}", RuntimeWarning, stacklevel=2)
            return
        self.totals = answer["totals"]
        for text in answer["warnings"]:
            warnings.warn(f"funcgraph: {text}", RuntimeWarning, stacklevel=2)

    def _stop(self) -> None:
        while self._handles:
            try:
                _engine.stop(self._handles.pop())
            except ValueError:
                pass  # the recorder had it stopped: no space left


def record(
    output: str | os.PathLike[str] = "trace.dat",
    *,
    tracer: str = "function_graph",
    filter: Iterable[str] = (),
    notrace: Iterable[str] = (),
    graph: Iterable[str] = (),
    max_graph_depth: int = 0,
    thresh_us: int = 0,
    args: bool = False,
    retval: bool = False,
    retaddr: bool = False,
    stack_trace: bool = False,
    no_repeats: bool = False,
    no_sleep_time: bool = False,
    no_irqs: bool = False,
    c_calls: bool = False,
    buffer_kb: int = 8192,
    mode: str = "wait",
    options: Iterable[str] = (),
    follow_fork: bool = True,
    clock: str = "mono",
    instances: Mapping[str, Mapping[str, Any]] | None = None,
) -> RecordBlock:
    """Record the calls made in a `with` block, in all threads and in children started meanwhile.

    Args:
        output: the trace.dat file to write; one that is there is replaced when the block ends.
        tracer: "function_graph" (calls with their durations) or "function" (calls only).
        filter: only functions that match one of these patterns: globs over module.qualname, or :mod:NAME.
        notrace: never functions that match one of these.
        graph: only functions that match one of these, and all that they call.
        max_graph_depth: only so many levels of calls; 0: all.
        thresh_us: only calls that take at least so many microseconds.
        args: record arguments too; no code of the program runs for that.
        retval: record return values too, in the same way.
        retaddr: record where calls are made (funcgraph-retaddr). "function_graph" only.
        stack_trace: record what each call was made from (func_stack_trace). "function" only.
        no_repeats: a call that comes again and again is told once, with how often (func-no-repeats; not
            together with args). "function" only.
        no_sleep_time: durations without the time that the thread slept or waited (nosleep-time; a system call
            at both ends of a call). "function_graph" only.
        no_irqs: neither calls of signal handlers nor what these call (nofuncgraph-irqs). "function_graph"
            only.
        c_calls: record C functions that recorded functions call.
        buffer_kb: size of each process's ring buffer, in KiB.
        mode: what happens when the buffer is full: "wait" for the recorder (nothing is lost), "drop" the
            newest, "overwrite" the oldest.
        options: how the report shows the trace unless it is told otherwise: names of the kernel's options
            as `funcgraph report -O` takes them. Some say what is recorded: "funcgraph-args", "func-args",
            "funcgraph-retval", "funcgraph-retaddr", "func_stack_trace", "func-no-repeats", "nosleep-time",
            "nofuncgraph-irqs".
        follow_fork: record child processes too.
        clock: the trace's clock: "mono" (CLOCK_MONOTONIC), "boot" (goes on while the machine sleeps),
            "mono_raw" (not slewed), "tai"; "local" and "global" are other names of "mono".
        instances: name -> any of the keywords from `tracer` to `options`: further instances, which record at
            the same time, each into a buffer of its own in the trace. The top instance, which the keywords
            themselves are about, is then left out if nothing is said of it.

    Returns:
        A context manager; after the block its `totals` say what was recorded.

    Raises:
        ValueError: a pattern (with column and reason), tracer, mode, option, clock, name or number that is
            none.
        TypeError: a single str where several patterns are wanted; a keyword that an instance does not have.
        Entering and leaving the block raises OSError and RuntimeError; see RecordBlock.

    Example:
        with funcgraph.record("parse.dat", filter=["json.*"], args=True) as recording:
            json.loads(text)
        print(recording.totals["records"])

    The semantics are those of the kernel's function_graph tracer (Documentation/trace/ftrace.rst).
    """
    given_keywords = locals()
    top = {name: given_keywords[name] for name in DEFAULTS}
    named = [_instance(name, keywords) for name, keywords in (instances or {}).items()]
    given = _instance("", top)
    if not named or any(given[name] != _own(default) for name, default in DEFAULTS.items()):
        named.insert(0, given)
    settings = {name: given_keywords[name] for name in RECORDING} | {"instances": named}
    check(settings)
    for instance in named:
        instance.update(record_options(instance["options"]))
    return RecordBlock(os.path.realpath(output), settings)


def _own(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _instance(name: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instance's settings. Raises TypeError."""
    unknown = ", ".join(map(repr, keywords.keys() - DEFAULTS.keys()))
    if unknown:
        raise TypeError(f"instance {name!r} has no option {unknown}; there are: {', '.join(DEFAULTS)}")
    instance = {"name": name}
    for option, default in DEFAULTS.items():
        value = keywords.get(option, default)
        if isinstance(default, tuple):
            if isinstance(value, str):
                what = "patterns" if BY_NAME[option].kind == PATTERNS else "words"
                raise TypeError(f"{option} must be a list of {what}, not one str: [{value!r}]")
            value = list(value)
        instance[option] = value
    return instance


def _command_line() -> list[str]:
    return [str(word) for word in getattr(sys, "argv", [])]


class _RecorderProcess:
    """The program's end of the pipes to its recorder process.

    Args:
        request: output, settings and command, for background.py.

    Raises:
        OSError, RuntimeError: what the recorder process could not do.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        if not sys.executable:
            raise RuntimeError("cannot start a recorder process: sys.executable is empty")
        request_read, self._requests = os.pipe()
        self._answers, answer_write = os.pipe()
        package_folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        code = f"import sys; sys.path.append(sys.argv.pop(1)); from {_MODULE} import main; main()"
        try:
            # Not traced itself, wherever it is started: an empty variable is no session.
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
        launcher.wait()  # forks the recorder and ends at once: the program's os.wait() has nothing to find
        try:
            self._send(request)
            self.session: str = self._receive()["session"]
        except BaseException:
            self.close()
            raise

    def end(self) -> dict[str, Any]:
        """Tell the recorder that the block has ended; return what it recorded, when the trace is complete."""
        try:
            os.write(self._requests, b"end\n")
            return self._receive()
        except BrokenPipeError:
            raise RuntimeError(
                "the recorder process was killed; 'funcgraph recover' makes a trace of the rest"
            ) from None
        finally:
            self.close()

    def abandon(self) -> None:
        """End a recording that never began: nothing is written."""
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
                    "the recorder process ended without an answer; 'funcgraph recover' may find its rest"
                )
            data += piece
        answer: dict[str, Any] = json.loads(data)
        if "error" in answer:
            raise _error_from(answer["error"])
        return answer


def _error_from(error: dict[str, Any]) -> Exception:
    """Return the exception that the recorder process met, as its own built-in type."""
    kind = getattr(builtins, error["type"], None)
    if isinstance(kind, type) and issubclass(kind, OSError):
        return OSError(error["errno"], error["text"], error["filename"])  # picks the subclass by the number
    return RuntimeError(f"{error['type']}: {error['text']}")
