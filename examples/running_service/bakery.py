"""A service that runs for ever: it takes orders and pays them (docs/start/running-service.md)."""

import itertools
import time

ORDERS = [("ann", 120), ("bob", 80), ("zoe", 2400), ("bob", 15)]


class RefusedError(Exception):
    """The bank does not pay."""


def price(amount):
    return amount * 119 // 100


def pay(user, amount):
    if amount > 1000:
        raise RefusedError(user)
    return price(amount)


def order(user, amount):
    try:
        return pay(user, amount)
    except RefusedError:
        return None


def main():
    for user, amount in itertools.cycle(ORDERS):
        order(user, amount)
        time.sleep(0.005)


if __name__ == "__main__":
    main()
