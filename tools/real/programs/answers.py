"""What the servers compute for a request: recursion, generators, exceptions, many small objects."""

import hashlib
import json


def fib(number):
    return number if number < 2 else fib(number - 1) + fib(number - 2)


def squares(count):
    for number in range(count):
        yield number * number


def digits(number):
    try:
        return sorted(str(1 // (number % 3)) + str(number * 7919))
    except ZeroDivisionError as error:
        return [str(error)]


class NotThereError(Exception):
    pass


def answer(path, body=b""):
    kind, _, text = path.strip("/").partition("/")
    if kind == "work":
        number = int(text)
        found = {"fib": fib(number % 12), "sum": sum(squares(number)), "digits": digits(number)}
        return json.dumps({"number": number, **found}, sort_keys=True).encode()
    if kind == "echo":
        return hashlib.sha256(body).hexdigest().encode() + b" " + body[::-1]
    if kind == "boom":
        raise RuntimeError(f"no answer to {text}")
    raise NotThereError(path)
