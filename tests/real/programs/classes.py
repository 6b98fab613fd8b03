"""Classes being made and used: metaclasses, dataclasses, enums, ABCs, named tuples, descriptors, exec."""

import abc
import collections
import dataclasses
import enum
import functools
import types
import typing
import weakref


class Registry(type):
    known = {}

    @classmethod
    def __prepare__(mcs, name, bases, **options):
        return collections.OrderedDict(options)

    def __new__(mcs, name, bases, namespace, **options):
        cls = super().__new__(mcs, name, bases, dict(namespace))
        mcs.known[name] = cls
        return cls

    def __init__(cls, name, bases, namespace, **options):
        super().__init__(name, bases, namespace)

    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance)

    def __getattr__(cls, name):
        return f"{cls.__name__}.{name}"


class Typed:
    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, instance, owner):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, value)


def make_classes():
    class Base(metaclass=Registry, colour="red"):
        size = Typed()

        def __init_subclass__(cls, **options):
            super().__init_subclass__(**options)

        def __init__(self, size):
            self.size = size

        @property
        def area(self):
            return self.size**2

        @functools.cached_property
        def volume(self):
            return self.size**3

        @functools.singledispatchmethod
        def show(self, value):
            return "object"

        @show.register
        def _(self, value: int):
            return "int"

        @classmethod
        def unit(cls):
            return cls(1)

        @staticmethod
        def zero():
            return 0

    class Derived(Base):
        def __init__(self, size, extra=None):
            super().__init__(size)
            self.extra = extra

    shape = Derived(3)
    assert isinstance(shape, Base) and shape.area == 9 and shape.volume == shape.volume == 27
    assert shape.show(3) == "int" and shape.show("s") == "object"
    assert Derived.unit().size == 1 and Base.zero() == 0 and Base.missing == "Base.missing"
    assert Base.colour == "red"
    return weakref.ref(shape)


def make_dataclasses():
    @dataclasses.dataclass(order=True)
    class Point:
        x: int
        y: int = 0
        tags: list = dataclasses.field(default_factory=list, compare=False)

        def __post_init__(self):
            self.tags.append(self.x)

    @dataclasses.dataclass(frozen=True, slots=True)
    class Fixed:
        a: int
        b: str = "b"

    points = [Point(i % 3, i) for i in range(9)]
    assert min(points) == Point(0, 0) and repr(points[0]) == points[0].__repr__()
    assert dataclasses.asdict(dataclasses.replace(points[1], y=5))["y"] == 5
    assert len({Fixed(i % 2) for i in range(6)}) == 2
    try:
        Fixed(1).a = 2
    except dataclasses.FrozenInstanceError:
        pass


def make_enums():
    class Colour(enum.Enum):
        RED = enum.auto()
        BLUE = "b"

        @classmethod
        def _missing_(cls, value):
            return cls.RED if value == "r" else None

        def describe(self):
            return self.name.lower()

    class Access(enum.Flag):
        READ = enum.auto()
        WRITE = enum.auto()

    assert Colour("r") is Colour.RED and Colour("b").describe() == "blue"
    assert len(list(Colour)) == 2 and Colour["RED"] in Colour
    assert str(Access.READ | Access.WRITE) and Access.READ in (Access.READ | Access.WRITE)
    try:
        Colour(99)
    except ValueError:
        pass


def make_abstract():
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

        @classmethod
        def __subclasshook__(cls, other):
            return True if hasattr(other, "area") else NotImplemented

    class Square(Shape):
        def area(self):
            return 4

    class Unrelated:
        def area(self):
            return 5

    assert Square().area() == 4 and issubclass(Unrelated, Shape) and isinstance(Unrelated(), Shape)
    try:
        Shape()
    except TypeError:
        pass


def make_typed():
    class Pair(typing.NamedTuple):
        left: int
        right: str = "r"

        def swapped(self):
            return Pair(self.right, self.left)

    class Box(typing.Generic[typing.TypeVar("T")]):
        def __init__(self, content):
            self.content = content

    row = collections.namedtuple("row", "a b c")
    assert Pair(1).swapped().left == "r" and row(1, 2, 3)._replace(a=5)._asdict()["a"] == 5
    assert Box[int](3).content == 3
    assert typing.get_type_hints(Pair)["left"] is int


def make_by_exec():
    results = []
    for i in range(20):
        namespace = {}
        exec(compile(f"def made(n):\n    return n * {i}\nvalue = made(2)", f"<made {i}>", "exec"), namespace)
        results.append(namespace["value"])
        results.append(eval("(lambda k: k + 1)(value)", namespace))
    made = types.new_class("Made", (), {}, lambda namespace: namespace.update(x=1))
    assert made.x == 1 and results[:4] == [0, 1, 2, 3]


def main():
    assert make_classes() is not None
    make_dataclasses()
    make_enums()
    make_abstract()
    make_typed()
    make_by_exec()
    Registry.known.clear()
