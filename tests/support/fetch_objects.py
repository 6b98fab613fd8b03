"""The objects that the tests of fetch programs read: each kind that is read, and each that must not be."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import types
from typing import Any

Point = collections.namedtuple("Point", "x y")


class Plain:
    shared = "of the class"

    def __init__(self) -> None:
        self.number = 7
        self.text = "text"
        self.inner = types.SimpleNamespace(deep=(1, [2, {"key": 3, 4: "four"}]))

    def method(self) -> int:
        return 1

    @property
    def computed(self) -> int:
        return 1

    @functools.cached_property
    def cached(self) -> int:
        return 1

    @staticmethod
    def static() -> int:
        return 1

    @classmethod
    def of_class(cls) -> int:
        return 1


class Derived(Plain):
    shared = "of the derived class"


class Slots:
    __slots__ = ("empty", "number")

    def __init__(self) -> None:
        self.number = 8


class SlotsAndDict(Slots):
    def __init__(self) -> None:
        super().__init__()
        self.own = 9


@dataclasses.dataclass
class Data:
    number: int = 1
    text: str = "data"


@dataclasses.dataclass(slots=True, frozen=True)
class SlotsData:
    number: int = 2
    text: str = "slots"


class Colour(enum.Enum):
    RED = "red"
    GREEN = 2


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    FIRST = "first"


class Bits(enum.Flag):
    ONE = 1
    TWO = 2


class OwnValue(enum.Enum):
    A = 1

    @property
    def value(self) -> Any:
        return "own"


class Getattr:
    there = 1

    def __init__(self) -> None:
        self.own = 2

    def __getattr__(self, name: str) -> Any:
        return name


class Getattribute:
    there = 1

    def __getattribute__(self, name: str) -> Any:
        return 1


class Meta(type):
    of_meta = "meta"

    @property
    def computed(cls) -> int:
        return 1


class WithMeta(metaclass=Meta):
    of_class = "class"


class OwnInt(int):
    def __int__(self) -> int:
        return 1


class PlainInt(int):
    pass


class TaggedInt(int):
    def __init__(self, number: int) -> None:
        self.tag = "tag"


class OwnFloat(float):
    def __float__(self) -> float:
        return 1.0


class OwnStr(str):
    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __getitem__(self, n: Any) -> str:
        return "x"


class OwnList(list[Any]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, n: Any) -> Any:
        return 1


class PlainList(list[Any]):
    pass


class OwnDict(dict[Any, Any]):
    def __getitem__(self, n: Any) -> Any:
        return 1

    def __len__(self) -> int:
        return 1


class PlainDict(dict[Any, Any]):
    pass


class Missing(dict[Any, Any]):
    def __missing__(self, name: Any) -> Any:
        return 1


class SameHash:
    """A key whose hash is that of another key, and that would have to be asked whether it is equal."""

    def __init__(self, other: object) -> None:
        self.hash = hash(other)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return True


class Unequal(SameHash):
    """One that is not equal."""

    __hash__ = SameHash.__hash__

    def __eq__(self, other: object) -> bool:
        return False


class Bool:
    def __bool__(self) -> bool:
        return True


class OwnBoolInt(int):
    def __bool__(self) -> bool:
        return True


def function(a: int, b: int = 3) -> int:
    return a + b


def changed(plain: Plain) -> Plain:
    """Return an object whose attributes have moved into a dictionary of its own."""
    plain.__dict__["from outside"] = 1
    vars(plain).update({f"more{i}": i for i in range(60)})
    return plain


def shrunk() -> Plain:
    plain = Plain()
    del plain.text
    return plain


def filled_deque(first: int, length: int) -> collections.deque[int]:
    """Return a deque whose first item lies somewhere in its first block."""
    numbers = collections.deque(range(-first, length))
    for _ in range(first):
        numbers.popleft()
    return numbers


def raised() -> BaseException:
    try:
        raise ValueError("text", 5) from KeyError("cause")
    except ValueError as error:
        return error
