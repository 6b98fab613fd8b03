"""Makes some 33 calls in each round in each of four threads: nested, short and long ones of 64 functions.

Usage: many_calls.py ROUNDS [PROCESSES]

With PROCESSES so many do it at the same time.
"""

import subprocess
import sys
import threading

_FUNCTIONS = 64
_SOURCE = """
def f{n}(i, depth):
    if depth:
        f{a}(i + 1, depth - 1)
        if i & 3 == {n} & 3:
            f{b}(i + 3, depth - 1)
    elif i % 9973 == {n}:
        sum(range(2000))
"""


def functions():
    """Return functions that call each other."""
    made = {}
    for n in range(_FUNCTIONS):
        exec(_SOURCE.format(n=n, a=(n * 5 + 1) % _FUNCTIONS, b=(n * 3 + 7) % _FUNCTIONS), made)
    return [made[f"f{n}"] for n in range(_FUNCTIONS)]


def fails(i):
    raise ValueError(i)


def items(i):
    for n in range(3):
        yield i + n


def work(rounds, made):
    for i in range(rounds):
        made[i % _FUNCTIONS](i, 2 + i % 6)
        if i % 512 == 0:
            list(items(i))
            try:
                fails(i)
            except ValueError:
                pass


def in_processes(rounds, count):
    started = [subprocess.Popen([sys.executable, __file__, rounds]) for _ in range(count)]
    sys.exit(any([process.wait() for process in started]))


def main():
    if len(sys.argv) > 2:
        in_processes(sys.argv[1], int(sys.argv[2]))
    rounds, made = int(sys.argv[1]), functions()
    threads = [threading.Thread(target=work, args=(rounds, made), name=f"worker {n}") for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
