"""The number of calls of fib(n)."""


def calls_of(n):
    a, b = 1, 1
    for _ in range(n):
        a, b = b, a + b
    return 2 * a - 1
