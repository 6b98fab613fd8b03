"""A small web service with three faults, which docs/start/guide.md finds. It needs no network."""

import asyncio
import time
from dataclasses import dataclass

PRICES = {"tea": 4, "cake": 6, "wine": 15, "hamper": 120}


@dataclass
class Cart:
    """What a user buys."""

    user: str
    items: list[str]
    coupon: int = 0


REQUESTS = [
    Cart("ann", ["tea", "cake"]),
    Cart("bob", ["wine"], coupon=10),
    Cart("zoe", ["hamper", "wine"]),
    Cart("eve", ["tea"], coupon=10),
]


def load_catalogue():
    """Fault 1: the whole catalogue is made again for each item."""
    return {f"article {number}": number for number in range(20_000)} | PRICES


def item_price(name):
    return load_catalogue()[name]


def discount(cart):
    """Fault 2: it can be more than the cart costs."""
    return cart.coupon


def total(cart):
    return sum(item_price(name) for name in cart.items) - discount(cart)


def audit(cart, amount):
    """Fault 3: whatever else the event loop has to do waits for this."""
    if amount > 100:
        time.sleep(0.05)


async def charge(user, amount):
    await asyncio.sleep(0.002)
    return f"{user} pays {amount}"


async def checkout(cart):
    amount = total(cart)
    receipt = await charge(cart.user, amount)
    audit(cart, amount)
    return receipt


async def main():
    for receipt in await asyncio.gather(*map(checkout, REQUESTS)):
        print(receipt)


if __name__ == "__main__":
    asyncio.run(main())
