"""Functions that the tests trace."""


def pay(amount: int) -> int:
    return price(amount)


def price(amount: int) -> int:
    return 2 * amount
