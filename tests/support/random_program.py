"""Random programs made of real Python functions, for test_model_cpython.py. A program is a tree of actions.

Each function performs the actions of its call and reports them to the model: which call begins, suspends,
resumes and ends, and how. The reports do not depend on funcgraph's events. The code around the functions is
in modules that no filter matches.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import queue
import sys
import threading
import types
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from model import End, Model

Action = tuple[Any, ...]

#: close() does not run the frame of a generator that is suspended outside of any `try` (gh-100762). From
#: 3.14 on it does if a tool has PY_UNWIND events.
CLOSES_IN_SILENCE = (3, 13) <= sys.version_info < (3, 14)
#: To close a generator that never ran, CPython runs its frame, which raises at once (until gh-101013).
CLOSES_UNSTARTED = sys.version_info < (3, 12)
NR_THREADS = 3


class BoomError(Exception):
    """Raised by the programs."""


@dataclass(eq=False)
class Call:
    """One call, from before it begins to its end.

    Attributes:
        answer: how a guarded function handles an exception thrown into it: "raise", "return" or "go on".
        reaction: actions that it performs first.
        object: the generator or coroutine.
        outer: the call that waits for this one with `yield from` or `await`.
        delegate: the call that this one waits for.
    """

    func: Function
    id: int
    actions: list[Action]
    answer: str = "raise"
    reaction: list[Action] = field(default_factory=list)
    object: Any = None
    outer: Call | None = None
    delegate: Call | None = None
    in_loop: bool = False
    begun: bool = False
    over: bool = False
    running: bool = False
    swallowed: bool = False
    raised: bool = False

    def chain(self) -> list[Call]:
        """Return the call, the call that it waits for, and so on."""
        return [self, *(self.delegate.chain() if self.delegate else ())]


# ---- the functions: templates; each name gets its own copy of the code object


def plain(run: Program, call: Call) -> None:
    run.begin(call)
    for action in call.actions:
        run.do(action, call)


def bare_generator(run: Program, call: Call) -> Generator[None, None, None]:
    run.begin(call)
    for action in call.actions:
        if action[0] == "yield":
            run.suspend(call)
            yield
            run.resumed(call)
        elif action[0] == "delegate":
            yield from run.delegate(call, action)
            run.delegate_returned(call)
        else:
            run.do(action, call)


def guarded_generator(run: Program, call: Call) -> Generator[None, None, None]:
    run.begin(call)
    for action in call.actions:
        if action[0] == "yield":
            run.suspend(call)
            try:
                yield
            except BaseException as thrown:
                answer = run.thrown_into(call, thrown)
                if answer == "raise":
                    raise
                if answer == "return":
                    return
            else:
                run.resumed(call)
        elif action[0] == "delegate":
            try:
                yield from run.delegate(call, action)
            except BaseException as thrown:
                answer = run.delegate_raised(call, thrown)
                if answer == "raise":
                    raise
                if answer == "return":
                    return
            else:
                run.delegate_returned(call)
        else:
            run.do(action, call)


async def bare_coroutine(run: Program, call: Call) -> None:
    run.begin(call)
    for action in call.actions:
        if action[0] == "yield":
            run.suspend(call)
            await run.pause(call)
            run.resumed(call)
        elif action[0] == "delegate":
            await run.delegate(call, action)
            run.delegate_returned(call)
        elif action[0] == "iterate":
            async for _ in run.delegate(call, action):
                pass
            run.delegate_returned(call)
        else:
            run.do(action, call)


async def guarded_coroutine(run: Program, call: Call) -> None:
    run.begin(call)
    for action in call.actions:
        if action[0] == "yield":
            run.suspend(call)
            try:
                await run.pause(call)
            except BaseException as thrown:
                answer = run.thrown_into(call, thrown)
                if answer == "raise":
                    raise
                if answer == "return":
                    return
            else:
                run.resumed(call)
        elif action[0] == "delegate":
            try:
                await run.delegate(call, action)
            except BaseException as thrown:
                answer = run.delegate_raised(call, thrown)
                if answer == "raise":
                    raise
                if answer == "return":
                    return
            else:
                run.delegate_returned(call)
        else:
            run.do(action, call)


async def bare_async_generator(run: Program, call: Call) -> AsyncGenerator[None, None]:
    run.begin(call)
    for action in call.actions:
        if action[0] == "yield":
            run.suspend_alone(call)
            yield
            run.resumed_alone(call)
        else:
            run.do(action, call)


async def guarded_async_generator(run: Program, call: Call) -> AsyncGenerator[None, None]:
    run.begin(call)
    for action in call.actions:
        if action[0] == "yield":
            run.suspend_alone(call)
            try:
                yield
            except BaseException as thrown:
                answer = run.thrown_into(call, thrown)
                if answer == "raise":
                    raise
                if answer == "return":
                    return
            else:
                run.resumed_alone(call)
        else:
            run.do(action, call)


@dataclass(frozen=True)
class Function:
    """A function that programs call."""

    index: int
    module: str
    qualname: str
    template: Callable[..., Any]

    @property
    def name(self) -> str:
        return f"{self.module}.{self.qualname}"

    @property
    def is_guarded(self) -> bool:
        return self.template.__name__.startswith("guarded")

    def make(self) -> Callable[..., Any]:
        """Return a new function with its own code object."""
        name = self.qualname.rpartition(".")[2]
        code = self.template.__code__.replace(co_name=name, co_qualname=self.qualname)
        return types.FunctionType(code, {"__name__": self.module}, name)


_NAMES: list[tuple[str, str, Callable[..., Any]]] = [
    ("fgm", "f0", plain),
    ("fgm", "f1", plain),
    ("fgn", "C.method", plain),
    ("fgm", "g0", bare_generator),
    ("fgn", "g1", guarded_generator),
    ("fgn", "c0", bare_coroutine),
    ("fgm", "c1", guarded_coroutine),
    ("fgm", "a0", bare_async_generator),
    ("fgn", "a1", guarded_async_generator),
]
FUNCTIONS = [Function(index, *rest) for index, rest in enumerate(_NAMES)]
PLAIN = [func.index for func in FUNCTIONS if func.template is plain]
GENERATORS = [func.index for func in FUNCTIONS if func.template in (bare_generator, guarded_generator)]
COROUTINES = [func.index for func in FUNCTIONS if func.template in (bare_coroutine, guarded_coroutine)]
ASYNC_GENERATORS = [
    func.index for func in FUNCTIONS if func.template in (bare_async_generator, guarded_async_generator)
]


@types.coroutine
def _pause() -> Generator[None, None, None]:
    yield


class Worker(threading.Thread):
    """A thread that runs one function at a time, while its caller waits."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        while (work := self.work.get()) is not None:
            try:
                work()
            except BaseException as error:
                self.done.put(error)
            else:
                self.done.put(None)
            del work

    def do(self, work: Callable[[], None]) -> None:
        self.work.put(work)
        error = self.done.get()
        if error is not None:
            raise error

    def end(self) -> None:
        self.work.put(None)
        self.join()


def _starts(call: Call, how: str) -> bool:
    """Return True if CPython runs the frame of a call that never ran, but only to raise at its first line."""
    if how in ("send", "throw"):
        return how == "throw"  # after send() the function itself reports that it began
    if call.func.index in COROUTINES and how != "close":
        return False  # it was never awaited: CPython only warns
    return CLOSES_UNSTARTED or (how == "close" and call.func.index in ASYNC_GENERATORS)


class Program:
    """Performs actions, and reports all calls to the model.

    Args:
        model: gets all calls.
        control: performs the actions that change users.
    """

    def __init__(self, model: Model, control: Callable[[Action], None]) -> None:
        self.model = model
        self.control = control
        self.functions = [func.make() for func in FUNCTIONS]
        self.ids = itertools.count(1)
        self.pool: list[Call] = []  #: generators and coroutines that the program holds
        self.task = 0
        self.busy = {0}
        self.workers: dict[int, Worker] = {}
        self.in_loop: set[int] = set()
        self.is_collecting = False
        model.begin_task(0, threading.get_native_id())

    # ---- actions

    def top(self, actions: Iterable[Action]) -> None:
        """Perform top-level actions, and catch their exceptions."""
        for action in actions:
            try:
                self.do(action, None)
            except BoomError:
                pass

    def do(self, action: Action, call: Call | None) -> None:
        name, *arguments = action
        if name in ("yield", "delegate", "iterate"):
            return  # not possible in this kind of function
        method = getattr(self, f"do_{name}", None)
        if method is None:
            self.control(action)
        else:
            method(*arguments)

    def do_call(self, func: int, actions: list[Action], catches: bool) -> None:
        call = self._new(func, actions)
        try:
            self.functions[func](self, call)
        except BoomError:
            self._end(call, End.RAISE)
            if not catches:
                raise
        else:
            self._end(call, End.RETURN)

    def do_recurse(self, func: int, levels: int, actions: list[Action]) -> None:
        nested = [("recurse", func, levels - 1, actions)] if levels else actions
        self.do_call(func, nested, False)

    def do_raise(self) -> None:
        raise BoomError

    def do_make(self, func: int, actions: list[Action], answer: str, reaction: list[Action]) -> None:
        call = self._new(func, actions, answer, reaction)
        call.object = self.functions[func](self, call)
        self.pool.append(call)

    def do_resume(self, which: int, how: str) -> None:
        calls = [call for call in self.pool if not call.running and self._may_touch(call)]
        if not calls:
            return
        call = calls[which % len(calls)]
        call.running = True
        if not call.begun and _starts(call, how):
            self.begin(call)
        try:
            self._step(call, how)
        except BoomError:
            self._unwound(call, BoomError())
        finally:
            call.running = False
        if how in ("close", "drop", "collect"):
            if call.begun:
                self._unwound(call, GeneratorExit())
            call.over = True
        if call.over:
            self.pool.remove(call)
            call.object = None

    def do_on(self, task: int, actions: list[Action]) -> None:
        if task in self.busy:
            return
        if task not in self.workers:
            self.workers[task] = Worker()
            self.model.begin_task(task, self.workers[task].native_id or 0)
        asking, self.task = self.task, task
        self.busy.add(task)
        try:
            self.workers[task].do(lambda: self.top(actions))
        finally:
            self.busy.remove(task)
            self.task = asking

    def do_end_thread(self, task: int) -> None:
        if task in self.workers and task not in self.busy:
            self.workers.pop(task).end()
            self.model.end_task(task)

    def do_asyncio(self, coroutines: list[tuple[int, list[Action], str]], cancelled: list[int]) -> None:
        if self.task in self.in_loop:
            return
        calls = [self._new(func, actions, answer) for func, actions, answer in coroutines]
        self.in_loop.add(self.task)
        try:
            asyncio.run(self._in_loop(calls, cancelled))
        finally:
            self.in_loop.discard(self.task)

    # ---- what functions report

    def begin(self, call: Call) -> None:
        call.begun = True
        self.model.enter(self.task, call.func.index, call.id)

    def suspend(self, call: Call) -> None:
        """Suspend the call and all calls that wait for it."""
        at: Call | None = call
        while at:
            self.suspend_alone(at)
            at = at.outer

    def resumed(self, call: Call) -> None:
        """Resume the calls that wait for it, the outermost first, then the call."""
        if call.outer:
            self.resumed(call.outer)
        self.resumed_alone(call)

    def suspend_alone(self, call: Call) -> None:
        if call.id not in self.model.suspended:
            self.model.suspend(self.task, call.id)

    def resumed_alone(self, call: Call) -> None:
        self.model.resume(self.task, call.id)

    def thrown_into(self, call: Call, thrown: BaseException) -> str:
        """Resume a call that gets an exception, but not the calls that wait for it; return its answer."""
        self.resumed_alone(call)
        call.raised = True  # unless the reaction completes
        for action in call.reaction:
            self.do(action, call)
        call.raised = False
        is_close = isinstance(thrown, GeneratorExit)
        answer = "raise" if is_close and call.answer == "go on" else call.answer
        call.swallowed = answer == "return"
        return answer

    def delegate(self, outer: Call, action: Action) -> Any:
        """Make a call for `outer` to wait for, and return its generator or coroutine."""
        _, func, actions, answer, reaction = action
        inner = self._new(func, actions, answer, reaction)
        inner.outer, outer.delegate = outer, inner
        inner.in_loop = outer.in_loop
        return self.functions[func](self, inner)

    def delegate_returned(self, call: Call) -> None:
        assert call.delegate
        self._end(call.delegate, End.RETURN)
        call.delegate = None
        self.resumed_alone(call)  # if throw() ended the delegate, this resume is the only one reported

    def delegate_raised(self, call: Call, thrown: BaseException) -> str:
        assert call.delegate
        self._unwound(call.delegate, thrown)
        call.delegate = None
        return self.thrown_into(call, thrown)

    def pause(self, call: Call) -> Coroutine[Any, Any, None]:
        return asyncio.sleep(0) if call.in_loop else _pause()

    # ---- how it works

    def _new(self, func: int, actions: list[Action], answer: str = "raise", reaction: Any = ()) -> Call:
        in_loop = self.task in self.in_loop
        return Call(FUNCTIONS[func], next(self.ids), actions, answer, list(reaction), in_loop=in_loop)

    def _may_touch(self, call: Call) -> bool:
        """Return False for async generators in an event loop: the loop would end them later."""
        return not (call.func.index in ASYNC_GENERATORS and self.task in self.in_loop)

    def _step(self, call: Call, how: str) -> None:
        if how == "drop" or (how == "collect" and self.is_collecting):
            call.object = None
        elif how == "collect":
            self.is_collecting = True
            ring = [call.object]
            ring.append(ring)
            call.object = None
            del ring
            gc.collect(1)  # the ring is young, so this collects it; automatic collection is off
            self.is_collecting = False
        elif call.func.index in ASYNC_GENERATORS:
            self._step_async_generator(call, how)
        elif how == "close":
            call.object.close()
        else:
            try:
                call.object.send(None) if how == "send" else call.object.throw(BoomError)
            except StopIteration:
                self._end(call, End.RETURN)

    def _step_async_generator(self, call: Call, how: str) -> None:
        made = {"send": "asend", "throw": "athrow", "close": "aclose"}[how]
        argument = {"send": (None,), "throw": (BoomError,), "close": ()}[how]
        try:
            getattr(call.object, made)(*argument).send(None)
        except StopAsyncIteration:
            self._end(call, End.RETURN)
        except StopIteration:
            pass  # it yielded, or it is closed

    def _unwound(self, call: Call, raised: BaseException) -> None:
        """End the call and the chain of calls that it waited for: an exception left them."""
        end = End.CLOSE if isinstance(raised, GeneratorExit) else End.RAISE
        for each in reversed(call.chain()):
            if each.raised:
                end = End.RAISE
            if end is End.CLOSE and each.outer and self._closes_in_silence(each):
                self.resumed_alone(each.outer)  # it drops the generator; only then the end is noticed
            self._end(each, End.RETURN if each.swallowed else end)

    def _closes_in_silence(self, call: Call) -> bool:
        waits = (
            call.delegate is not None or call.func.index in COROUTINES
        )  # in a `try` that the compiler makes
        return (
            CLOSES_IN_SILENCE and not waits and not call.func.is_guarded and call.id in self.model.suspended
        )

    def _end(self, call: Call, end: End) -> None:
        if not call.over:
            call.over = True
            self.model.end(self.task, call.id, end)

    async def _in_loop(self, calls: list[Call], cancelled: list[int]) -> None:
        tasks = [asyncio.ensure_future(self._watch(call)) for call in calls]
        for which in cancelled:
            await asyncio.sleep(0)
            tasks[which % len(tasks)].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, call: Call) -> None:
        call.in_loop = True
        try:
            await self.functions[call.func.index](self, call)
        except (BoomError, asyncio.CancelledError) as raised:
            self._unwound(call, raised)
        else:
            self._end(call, End.RETURN)

    def finish(self) -> None:
        """Close all suspended calls, and end the threads."""
        while self.pool:
            try:
                self.do_resume(0, "close")
            except BoomError:
                pass
        for task in list(self.workers):
            self.do_end_thread(task)
