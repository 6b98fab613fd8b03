"""Generators: delegation, send, throw, close, collection while suspended, contexts, comprehensions."""

import contextlib
import gc
import itertools


def numbers(n):
    for i in range(n):
        yield i


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)


def averager():
    total = count = 0
    average = None
    while True:
        value = yield average
        if value is None:
            return count
        total += value
        count += 1
        average = total / count


def delegating(results):
    while True:
        result = yield from averager()
        results.append(result)


def stubborn():
    caught = 0
    while caught < 3:
        try:
            yield caught
        except ValueError:
            caught += 1
    yield "done"


def guarded(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")


def raising():
    yield 1
    raise LookupError("from a generator")


def refuses_to_close():
    try:
        yield 1
    except GeneratorExit:
        yield 2


@contextlib.contextmanager
def suppressing(kind):
    try:
        yield kind.__name__
    except kind:
        pass


def sending():
    results = []
    delegate = delegating(results)
    next(delegate)
    for value in (10, 20, 30, None, 5, None):
        delegate.send(value)
    delegate.close()
    assert results == [3, 1]


def throwing():
    generator = stubborn()
    assert next(generator) == 0
    assert generator.throw(ValueError) == 1
    assert generator.throw(ValueError("again")) == 2
    assert generator.throw(ValueError()) == "done"
    try:
        generator.throw(KeyError("out"))
    except KeyError:
        pass
    fresh = numbers(3)
    try:
        fresh.throw(RuntimeError("before it began"))
    except RuntimeError:
        pass
    delegate = delegating([])
    next(delegate)
    try:
        delegate.throw(OSError("through the delegate"))
    except OSError:
        pass


def closing():
    log = []
    suspended = guarded(log)
    next(suspended)
    suspended.close()
    suspended.close()
    never_begun = guarded(log)
    never_begun.close()
    dropped = guarded(log)
    next(dropped)
    del dropped
    unused = guarded(log)
    del unused
    plain = numbers(5)
    next(plain)
    plain.close()
    plain = tree(4)
    next(plain)
    del plain
    in_a_cycle = [numbers(3)]
    in_a_cycle.append(in_a_cycle)
    next(in_a_cycle[0])
    del in_a_cycle
    gc.collect()
    bad = refuses_to_close()
    next(bad)
    try:
        bad.close()
    except RuntimeError:
        pass
    assert log == ["closed", "closed"]


def ending():
    generator = raising()
    next(generator)
    try:
        next(generator)
    except LookupError:
        pass
    assert next(generator, None) is None
    for _ in zip(numbers(3), numbers(5)):
        pass
    for value in numbers(100):
        if value == 3:
            break
    first, *rest = numbers(4)
    assert (first, rest) == (0, [1, 2, 3])


def through_c():
    assert sum(i * i for i in range(20)) == 2470
    assert len(set(itertools.chain.from_iterable(numbers(i) for i in range(6)))) == 5
    assert [*itertools.islice(itertools.count(), 3)] == [0, 1, 2]
    assert any(value > 3 for value in numbers(10))
    assert dict(zip("abc", numbers(3))) == {"a": 0, "b": 1, "c": 2}
    assert [a for a in numbers(3) for b in numbers(2)] == [0, 0, 1, 1, 2, 2]
    assert "".join(str(i) for i in numbers(4)) == "0123"
    left, right = itertools.tee(numbers(4))
    assert list(left) == list(right)
    assert [key for key, _ in itertools.groupby(numbers(6), lambda n: n // 2)] == [0, 1, 2]


def contexts():
    with suppressing(ValueError) as name:
        raise ValueError(name)
    with contextlib.ExitStack() as stack:
        for kind in (KeyError, OSError):
            stack.enter_context(suppressing(kind))
        stack.callback(numbers, 3)
        raise OSError
    with suppressing(TypeError):
        pass


def main():
    assert list(tree(3)) == [1, 2, 1, 3, 1, 2, 1]
    sending()
    throwing()
    closing()
    ending()
    through_c()
    contexts()
    gc.collect()
