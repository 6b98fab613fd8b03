"""A program of 500 threads, and a recursion of 20,000 levels."""

import sys
import threading

sys.setrecursionlimit(30_000)


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def short(n):
    return n


for number in range(500):
    thread = threading.Thread(target=short, args=(number,), name=f"short-{number}")
    thread.start()
    thread.join()
deep(20_000)
