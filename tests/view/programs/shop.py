"""A program with everything that the page shows: threads, tasks, recursion, generators, exceptions."""

import asyncio
import threading
import time


class Shop:
    def price(self, item, rate=2):
        if item == 13:
            raise KeyError(item)
        return item * rate

    def total(self, cart):
        found = 0
        for item in cart:
            try:
                found += self.price(item)
            except KeyError:
                pass
        return found


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def numbers(n):
    for number in range(n):
        yield number


def pause(seconds):
    time.sleep(seconds)


def serve(customer):
    pause(0.002)
    return Shop().total([customer, 13, *numbers(3)])


async def fetch(n):
    fib(5)
    await asyncio.sleep(0.002 * n)
    return fib(4)


async def main():
    return await asyncio.gather(fetch(1), fetch(2))


def work():
    for customer in range(3):
        serve(customer)


threads = [threading.Thread(target=work, name=f"worker-{n}") for n in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
asyncio.run(main())
fib(9)
