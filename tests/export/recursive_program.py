"""Functions that call themselves, each other, and one another through C, for comparisons with cProfile."""


def program() -> None:
    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    def both() -> None:
        fib(7)
        even(9)
        list(map(fib, (1, 2)))

    both()
    both()
    odd(4)
