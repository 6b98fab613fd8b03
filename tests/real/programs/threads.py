"""Threads that run into each other: generators handed over, exceptions, locals, a pool with plain results."""

import threading

N = 8


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def numbers(n):
    for i in range(n):
        yield fib(i)


def fails(n):
    if n:
        return fails(n - 1)
    raise LookupError("in a thread")


def work(index, results, local):
    local.value = index
    total = sum(numbers(10 + index % 3))
    try:
        fails(index)
    except LookupError:
        total += local.value
    results[index] = total


def take(generator, n, out):
    for _ in range(n):
        out.append(next(generator))


def main():
    results, local = {}, threading.local()
    threads = [threading.Thread(target=work, args=(i, results, local)) for i in range(N)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == N
    # One generator, resumed by one thread after the other.
    generator, out = numbers(20), []
    for _ in range(4):
        thread = threading.Thread(target=take, args=(generator, 4, out))
        thread.start()
        thread.join()
    generator.close()
    assert out == [fib(i) for i in range(16)]
