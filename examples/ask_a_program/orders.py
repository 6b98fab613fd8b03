"""A shop that takes orders: the program that docs/start/ask-a-running-program.md asks questions."""

from dataclasses import dataclass


@dataclass
class User:
    name: str
    city: str


@dataclass
class Order:
    user: User
    amount: int
    items: list[str]


ANN, BOB, ZOE = User("ann", "Bern"), User("bob", "Oslo"), User("zoe", "Bern")
ORDERS = [
    Order(ANN, 120, ["tea"]),
    Order(BOB, 2400, ["desk", "lamp"]),
    Order(ZOE, 80, ["pen", "ink", "pad"]),
    Order(BOB, -5, []),
    Order(ANN, 1999, ["sofa"]),
    Order(ZOE, 30, ["tea"]),
]


def load(item: str) -> int:
    """Return the weight of an item."""
    return len(item)


def charge(order: Order) -> int:
    if order.amount < 0:
        raise ValueError(f"amount {order.amount}")
    return order.amount


def place(order: Order) -> bool:
    """Take an order; return whether that worked."""
    for item in order.items:
        load(item)
    try:
        return charge(order) > 0
    except ValueError:
        return False


def main() -> None:
    for order in ORDERS:
        place(order)


if __name__ == "__main__":
    main()
