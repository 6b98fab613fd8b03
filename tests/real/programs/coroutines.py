"""asyncio: tasks, cancellation, queues, locks, async generators; and coroutines driven by hand."""

import asyncio
import contextlib
import gc
import types


class Countdown:
    """An iterator by hand."""

    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        await asyncio.sleep(0)
        return self.n


class Ticket:
    """An awaitable by hand."""

    def __init__(self, value):
        self.value = value

    def __await__(self):
        yield
        return self.value


async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def tidy(log):
    try:
        yield 1
        yield 2
    finally:
        await asyncio.sleep(0)
        log.append("tidied")


@contextlib.asynccontextmanager
async def room(name):
    await asyncio.sleep(0)
    try:
        yield name
    finally:
        await asyncio.sleep(0)


@types.coroutine
def old_style():
    yield
    return "old"


async def produce(queue, n):
    for i in range(n):
        await queue.put(i)
    await queue.put(None)


async def consume(queue):
    items = []
    while (item := await queue.get()) is not None:
        items.append(item)
    return items


async def forever():
    try:
        while True:
            await asyncio.sleep(0)
    except asyncio.CancelledError:
        await asyncio.sleep(0)
        raise


async def failing():
    await asyncio.sleep(0)
    raise LookupError("failed")


async def depth(n):
    return await depth(n - 1) + 1 if n else await Ticket(0)


async def async_for():
    assert [i async for i in ticks(4)] == [0, 1, 2, 3]
    assert [i async for i in Countdown(3)] == [2, 1, 0]
    assert {i: j async for i in ticks(2) for j in range(2)} == {0: 1, 1: 1}
    log = []
    async for _ in tidy(log):
        break
    closing = tidy(log)
    await anext(closing)
    await closing.aclose()
    sending = tidy(log)
    await anext(sending)
    assert await sending.asend(None) == 2
    with contextlib.suppress(KeyError):
        await sending.athrow(KeyError("thrown"))
    gc.collect()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert log == ["tidied"] * 3


async def tasks():
    queue = asyncio.Queue(2)
    _, items = await asyncio.gather(produce(queue, 10), consume(queue))
    assert items == list(range(10))
    task = asyncio.create_task(forever())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    never = asyncio.create_task(forever())
    never.cancel()
    await asyncio.gather(never, failing(), return_exceptions=True)
    with contextlib.suppress(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(failing())
            group.create_task(forever())
    lock = asyncio.Lock()
    async with lock, room("a") as a, room("b") as b:
        assert (a, b) == ("a", "b")
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, 5)
    assert await future == 5


async def everything():
    assert await depth(10) == 10
    assert await old_style() == "old"
    await async_for()
    await tasks()


def by_hand():
    coroutine = depth(3)
    coroutine.send(None)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        assert stop.value == 3
    suspended = depth(5)
    suspended.send(None)
    suspended.close()
    thrown = depth(5)
    thrown.send(None)
    try:
        thrown.throw(ZeroDivisionError)
    except ZeroDivisionError:
        pass
    collected = depth(4)
    collected.send(None)
    del collected
    never_awaited = depth(1)
    never_awaited.close()


def main():
    by_hand()
    asyncio.run(everything())
    gc.collect()
