"""A Celery worker with a broker in memory: one country's invoices are slow, two tasks meet exceptions."""

from __future__ import annotations

import time

from celery import Celery, Task
from celery.contrib.testing.worker import start_worker

app = Celery("shop", broker="memory://", backend="cache+memory://")
STOCK = {"tea": 3, "rice": 5}
DELAYS = {"CH": 0.02}  # seconds: the customs office of this country answers late


@app.task
def invoice(order: int, country: str) -> str:
    return f"{country}-{order}-{duty(order, country)}"


def duty(order: int, country: str) -> int:
    time.sleep(DELAYS.get(country, 0))
    return order % 7


@app.task(bind=True, max_retries=3)
def reserve(self: Task, item: str) -> int:
    """Reserve an item; what is not in stock is tried again, and will not be there either."""
    try:
        return STOCK[item]
    except KeyError as error:
        raise self.retry(exc=error, countdown=0) from error


@app.task
def notify(order: int) -> bool:
    """Send a message; nobody learns that none has ever arrived."""
    try:
        connect("localhost", 25)
    except ConnectionError:
        return False
    return True


def connect(host: str, port: int) -> None:
    raise ConnectionRefusedError(f"{host}:{port}")


def main() -> None:
    tasks = [invoice.s(n, ("DE", "FR", "CH", "IT")[n % 4]) for n in range(40)]
    tasks += [notify.s(n) for n in range(20)]
    tasks += [reserve.s(item) for item in ("tea", "coffee", "rice")]
    with start_worker(app, pool="solo", perform_ping_check=False, loglevel="critical"):
        for result in [task.delay() for task in tasks]:
            result.get(timeout=60, propagate=False)


if __name__ == "__main__":
    main()
