"""Two tools on one program, at the same time. Neither knows of the other."""

from __future__ import annotations

import shop
from latency import Latency
from reached import Reached

import funcgraph


def main() -> None:
    reached, latency = Reached(shop), Latency("shop.*")
    with funcgraph.registered(reached.ops, latency.ops):
        earned = shop.run()
        for user in funcgraph.users():
            print(f"slot {user.slot}: {user.name} ({user.kind}) watches {', '.join(user.filter)}")
    print(f"\nearned {earned}\n\n{reached.report()}\n\n{latency.report()}")


if __name__ == "__main__":
    main()
