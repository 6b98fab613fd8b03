"""Programs that use much of a package with native code and print a digest of its results.

`python package_programs.py NAME` compares results with the standard library's where that has the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import sys
import threading
from collections.abc import Iterator
from typing import Any


def json_values(chance: random.Random, depth: int = 0) -> Any:
    """Return a random value that JSON has."""
    kind = chance.randrange(8 if depth < 4 else 6)
    if kind == 6:
        return [json_values(chance, depth + 1) for _ in range(chance.randrange(6))]
    if kind == 7:
        return {f"k{n}\u00e9": json_values(chance, depth + 1) for n in range(chance.randrange(6))}
    text = "".join(chance.choices('ab"\\\n\u20ac\U0001f600', k=chance.randrange(40)))
    return [None, True, chance.randrange(-(2**53), 2**53), chance.uniform(-1e9, 1e9), text, ""][kind]


def use_orjson() -> Iterator[bytes]:
    """Write and read 3,000 random documents, and 2,000 damaged ones."""
    import orjson

    chance = random.Random(1)
    for _ in range(3000):
        thing = json_values(chance)
        text = orjson.dumps(thing, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)
        assert json.loads(text) == thing == orjson.loads(text)
        yield text
    for _ in range(2000):
        damaged = bytearray(orjson.dumps(json_values(chance)) or b"0")
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            yield orjson.dumps(orjson.loads(damaged))
        except orjson.JSONDecodeError as error:
            yield str(error).encode()


def use_openblas() -> Iterator[bytes]:
    """Multiply, solve and decompose matrices, in OpenBLAS's threads, called from three threads at a time."""
    import numpy as np

    results: dict[int, list[str]] = {}

    def compute(number: int) -> None:
        generator = np.random.default_rng(number)
        found = results.setdefault(number, [])
        for size in (8, 65, 300, 500):
            a, b = generator.random((2, size, size))
            product = a @ b
            assert np.allclose(np.linalg.solve(a, product), b, atol=1e-4)
            u, s, v = np.linalg.svd(a)
            assert np.allclose(u * s @ v, a)
            found += [f"{math.log(s[0]):.6f}", f"{product.trace():.3f}", f"{np.linalg.slogdet(a)[1]:.4f}"]

    threads = [threading.Thread(target=compute, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield json.dumps(sorted(results.items())).encode()


def use_allocator() -> Iterator[bytes]:
    """Allocate and free memory of all sizes, in four threads."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.malloc.restype = libc.realloc.restype = ctypes.c_void_p
    libc.malloc.argtypes, libc.realloc.argtypes = [ctypes.c_size_t], [ctypes.c_void_p, ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    sums: dict[int, int] = {}

    def allocate(number: int) -> None:
        chance = random.Random(number)
        held: list[tuple[int, int]] = []
        total = 0
        for _ in range(20_000):
            size = 1 << chance.randrange(18)
            at = libc.malloc(size)
            ctypes.memset(at, size % 251, 1)
            held.append((at, size % 251))
            if len(held) > 50:
                at, byte = held.pop(chance.randrange(50))
                at = libc.realloc(at, 1 << chance.randrange(18))
                assert ctypes.string_at(at, 1)[0] == byte
                total += byte
                libc.free(at)
            total += len(bytearray(chance.randrange(100_000)))
        for at, _ in held:
            libc.free(at)
        sums[number] = total

    threads = [threading.Thread(target=allocate, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield json.dumps(sorted(sums.items())).encode()


USES = {"orjson": use_orjson, "openblas": use_openblas, "allocator": use_allocator}

if __name__ == "__main__":
    digest = hashlib.sha256()
    count = 0
    for piece in USES[sys.argv[1]]():
        digest.update(piece)
        count += 1
    print(count, digest.hexdigest())
