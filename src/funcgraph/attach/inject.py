"""Running Python source in a process that did not ask for it."""

from __future__ import annotations

import time
from pathlib import Path

from funcgraph.attach import runner, turns
from funcgraph.attach.access import Access, access_to
from funcgraph.attach.by_debugger import Request
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.exchange import Exchange
from funcgraph.attach.loader_lock import LoaderLock
from funcgraph.attach.process import Process
from funcgraph.attach.seccomp import check_seccomp
from funcgraph.attach.target import Target, find_target
from funcgraph.attach.watch import watched

__all__ = ["run_in"]

_PEP_768 = (3, 14)
#: Python itself knows it from 3.14 on. Whoever set it wants nobody to attach, whatever the version.
_SWITCH = "PYTHON_DISABLE_REMOTE_DEBUG"
#: Between two looks whether the code has begun or ended, and at most, when it takes long.
_LONGEST_POLL_S = 0.005
_POLL_S = 0.001
#: A main thread that has not run a request after this is taken for blocked.
_BLOCKED_S = 0.02

# A fork beside another thread warns, from CPython 3.12 on. Where funcgraph was loaded before, forks wait for
# the thread that runs this (an earlier version lacks that). It comes before what lets other threads run.
_HOLD = """\
import sys
c=sys.modules.get('funcgraph._control')
if c:getattr(c,'hold_forks',int)()
"""
#: The code that is sent.
_CODE = "\n".join(Path(str(module.__file__)).read_text(encoding="utf-8") for module in (turns, runner))

# Found through a function's own builtins: the program may have a name `exec`, and gets no name of ours. With
# short turns of the GIL, as in funcgraph.attach.turns, which has not come yet.
_TEXT = """\
(lambda:0).__builtins__['exec']('''
%simport posix as p,sys
i=sys.getswitchinterval()
sys.setswitchinterval(min(i,1e-4))
try:
 p.rename(D+"/source",D+"/run")
 f=p.open(D+"/run",p.O_CLOEXEC)
 s=p.read(f,p.fstat(f).st_size)
 p.close(f)
 %s
except OSError:pass
if sys.getswitchinterval()<2e-4:sys.setswitchinterval(i)
''',{'D':'%s'})
"""
_RUN = _HOLD, 'exec(s,{"__name__":"funcgraph.attach"})'
# In the main thread: start a thread. gevent and others may have replaced the module's functions.
_START = (
    "",
    """\
import _imp,_thread
 _imp.create_builtin(_thread.__spec__).start_new_thread(exec,(s,{"__name__":"funcgraph.attach"}))""",
)


def run_in(
    pid: int,
    source: str,
    timeout_s: float = 10.0,
    *,
    ignores_seccomp: bool = False,
    within: Deadline | None = None,
) -> str:
    """Run Python source in the main interpreter of a process, in a thread and a namespace of its own.

    The program goes on meanwhile. Nothing is printed there, no trace function sees the code, and when this
    returns nothing of it is left there but what the code itself has left.

    Args:
        pid: the process, of CPython 3.11 or later.
        source: the code.
        timeout_s: how long to try, and to wait for the code's end, in seconds.
        ignores_seccomp: try it in a process that has a seccomp filter, which may end the process.
        within: another deadline that ends this, too.

    Returns:
        The text of what the code left in its variable `answer`; "" without one.

    Raises:
        AttachError: the process cannot be attached to, no safe moment came in time, or the code raised an
            exception. One line says which.

    Example:
        >>> run_in(4711, "import sys; answer = sys.version")
        '3.13.0 (main, ...'
    """
    deadline = Deadline(timeout_s, within)
    process = Process(pid, deadline)

    def work() -> str:
        try:
            check_seccomp(process, ignores_filter=ignores_seccomp)
            return _run(find_target(process), source, deadline)
        finally:
            process.close()

    return watched(process, deadline, work)


def _run(target: Target, source: str, deadline: Deadline) -> str:
    if target.version < _PEP_768 and _SWITCH in target.process.environment():
        raise AttachError(target.pid, f"it was started with {_SWITCH}")
    target.process.check()
    loader = LoaderLock(target)
    loader.wait(deadline)
    with _access(target.process) as access, Exchange(target.process, access) as exchange:
        exchange.put("source", f"{_HOLD}{_CODE}\nrun({exchange.path!r}, {source!r})\n")
        target.process.check()
        if target.version >= _PEP_768:
            _request(target, loader, exchange, deadline)
        else:
            _inject(target, loader, exchange, deadline)
        return _outcome(target, exchange, deadline)


def _access(process: Process) -> Access:
    try:
        return access_to(process.identity)
    except OSError as error:
        raise AttachError(process.pid, f"its rights cannot be had: {error.strerror}") from None


def _request(target: Target, loader: LoaderLock, exchange: Exchange, deadline: Deadline) -> None:
    """Have the code started by the main thread; if that is blocked, by another way."""
    exchange.put("script", _TEXT % (*_START, exchange.path))
    with Request(target, exchange, deadline):
        until = time.monotonic() + min(deadline.left_s(), _BLOCKED_S)
        while not exchange.is_claimed() and time.monotonic() < until:
            time.sleep(_POLL_S)
        if not exchange.is_claimed():
            _inject(target, loader, exchange, deadline)


def _inject(target: Target, loader: LoaderLock, exchange: Exchange, deadline: Deadline) -> None:
    try:
        from funcgraph.attach.by_ptrace import Injection
    except ImportError:
        raise AttachError(target.pid, _unsupported(target)) from None
    if not target.image.is_x86_64:
        raise AttachError(target.pid, _unsupported(target))
    if "shstk" in target.process.status.get("x86_Thread_features", ""):
        raise AttachError(target.pid, "it has a shadow stack, which no code but its own may return through")
    with Injection(target, _TEXT % (*_RUN, exchange.path), exchange, loader, deadline) as injection:
        if not injection.run_until(exchange.is_claimed, deadline) and exchange.withdraw():
            raise AttachError(target.pid, _not_run(target, injection.why_not()))
        # The new thread is in the stub as long as the code runs. Looking for it would stop the program.
        _wait_for_end(target, exchange, deadline)


def _unsupported(target: Target) -> str:
    if target.version >= _PEP_768:
        return "its main thread is blocked, and only on x86-64 can another thread of it be used"
    return f"attaching to {target.python} needs x86-64: on other processors, CPython 3.14 or later"


def _not_run(target: Target, why: str) -> str:
    return "it has ended" if target.process.has_ended() else f"nothing was run in it: {why}"


def _outcome(target: Target, exchange: Exchange, deadline: Deadline) -> str:
    result = _wait_for_end(target, exchange, deadline)
    kind, _, text = result.decode(errors="replace").partition("\n")
    if kind != "ok":
        raise AttachError(target.pid, f"the code raised {text.splitlines()[0] if text else 'an exception'}")
    return text


def _wait_for_end(target: Target, exchange: Exchange, deadline: Deadline) -> bytes:
    """Return what the code has written at its end."""
    pause_s = _POLL_S
    while (result := exchange.result()) is None:
        if not target.process.is_same():
            raise AttachError(target.pid, "it ended, or executed another program, while the code ran")
        if deadline.is_over():
            raise AttachError(target.pid, "the code still runs in it")
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.1, _LONGEST_POLL_S)  # each look costs processor time, which the code needs
    return result
