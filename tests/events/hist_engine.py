"""The engine's histogram, compiled by itself and called through ctypes: from a trigger's text to its file."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compiled import CC, link

from funcgraph.events.hist_plan import Plan, Term, compile_plan
from funcgraph.events.hist_rows import Row, decode_rows
from funcgraph.events.hist_spec import HistSpec
from tests.events.hist_replay import Field

ROOT = Path(__file__).resolve().parent.parent.parent
_PARTS = ("hist_cell", "hist_count", "hist_key", "hist_map", "hist_read", "hist_term", "hist_track")
SOURCES = [*(ROOT / f"src/engine/hist/{part}.c" for part in _PARTS), ROOT / "src/engine/ring/field.c"]
FIELDS_AT = 8

_FORMATS = {
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "s8": "b",
    "s16": "h",
    "s32": "i",
    "s64": "q",
    "x8": "B",
    "x16": "H",
    "x32": "I",
    "x64": "Q",
    "f64": "d",
    "bool": "?",
    "char": "B",
    "symbol": "Q",
    "string": "I",
    "object": "I",
    "value": "I",
}
_MODIFIERS = {"": 0, "log2": 1, "buckets": 2}


class _Field(ctypes.Structure):
    _fields_ = (
        *(("offset", ctypes.c_uint16), ("type", ctypes.c_uint8), ("count", ctypes.c_uint8)),
        ("fault_bit", ctypes.c_uint16),
    )


class _Step(ctypes.Structure):
    _fields_ = (
        *(("op", ctypes.c_uint8), ("index", ctypes.c_uint8)),
        *(("field", _Field), ("number", ctypes.c_uint64)),
    )


class _Term(ctypes.Structure):
    _fields_ = (
        *(("nr_steps", ctypes.c_uint8), ("kind", ctypes.c_uint8), ("modifier", ctypes.c_uint8)),
        *(("bucket", ctypes.c_uint64), ("steps", _Step * 8)),
    )


class _Track(ctypes.Structure):
    _fields_ = (("variable", ctypes.c_uint8), ("is_change", ctypes.c_bool))


class _Plan(ctypes.Structure):
    _fields_ = (
        *(("size", ctypes.c_uint32), ("nr_keys", ctypes.c_uint32), ("nr_values", ctypes.c_uint32)),
        *(("nr_variables", ctypes.c_uint32), ("keeps_comm", ctypes.c_bool)),
        *(("keys", _Term * 8), ("values", _Term * 8), ("variables", _Term * 16)),
        *(
            ("signed_variables", ctypes.c_uint32),
            ("nr_tracked", ctypes.c_uint32),
            ("nr_saved", ctypes.c_uint32),
        ),
        *(("saver", ctypes.c_uint32), ("tracked", _Track * 8), ("saved", _Term * 8)),
    )


class _Caller(ctypes.Structure):
    _fields_ = (("func", ctypes.c_uint32), ("place", ctypes.c_uint32))


class _Hit(ctypes.Structure):
    _fields_ = (
        *(("image", ctypes.c_char_p), ("bytes", ctypes.c_uint32), ("cpu", ctypes.c_uint32)),
        *(("time_ns", ctypes.c_uint64), ("comm", ctypes.c_char_p), ("callers", ctypes.POINTER(_Caller))),
        *(("nr_callers", ctypes.c_size_t), ("variables", ctypes.c_void_p)),
    )


class _Loaded(ctypes.Structure):
    _fields_ = (
        *(("kind", ctypes.c_int), ("bytes", ctypes.c_uint16), ("tag", ctypes.c_uint8)),
        *(("number", ctypes.c_uint64), ("text", ctypes.c_char_p)),
    )


def build(folder: Path) -> ctypes.CDLL:
    """Compile the engine's part."""
    library = folder / "hist.so"
    link(library, CC, SOURCES, "-shared")
    loaded = ctypes.CDLL(str(library))
    loaded.fg_hist_count.restype = ctypes.c_void_p
    loaded.fg_hist_take.restype = ctypes.c_bool
    loaded.fg_hist_track.restype = ctypes.c_bool
    return loaded


def tagged(value: object) -> bytes:
    """Return a value as record.h has it."""
    if value is None:
        return b"\x01"
    if isinstance(value, bool):
        return b"\x02" if value else b"\x03"
    if isinstance(value, int):
        return struct.pack("<Bb", 4, value) if -128 <= value < 128 else struct.pack("<Bq", 5, value)
    if isinstance(value, float):
        return struct.pack("<Bd", 7, value)
    if isinstance(value, str | bytes):
        data = value.encode() if isinstance(value, str) else value
        return (
            struct.pack("<BQB", 8 if isinstance(value, str) else 9, len(value), min(len(data), 48))
            + data[:48]
        )
    name = type(value).__name__.encode()
    return struct.pack("<BQB", 11, 0x7F0000, len(name)) + name


class Histogram:
    """A histogram of an event with these fields."""

    def __init__(self, library: ctypes.CDLL, spec: HistSpec, fields: Sequence[Field]) -> None:
        self._library = library
        self.spec = spec
        self._fields = fields
        self._offsets, at = {}, FIELDS_AT
        for field in fields:
            self._offsets[field.name] = (at, field.type)
            at += struct.calcsize("<" + _FORMATS[field.type])
        self._end = at
        self._hist = ctypes.c_void_p()
        plan = self._plan(compile_plan(spec))
        assert library.fg_hist_new(ctypes.byref(plan), ctypes.byref(self._hist)) == 0

    def close(self) -> None:
        self._library.fg_hist_free(self._hist)

    def _plan(self, plan: Plan) -> _Plan:
        made = _Plan(plan.size, len(plan.keys), len(plan.values), len(plan.variables), plan.keeps_comm)
        made.signed_variables = sum(term.is_signed << i for i, term in enumerate(plan.variables))
        made.nr_tracked, made.nr_saved, made.saver = len(plan.tracked), len(plan.saved), max(plan.saver, 0)
        for place, track in enumerate(plan.tracked):
            made.tracked[place] = _Track(*track)
        for name in ("keys", "values", "variables", "saved"):
            for place, term in enumerate(getattr(plan, name)):
                getattr(made, name)[place] = self._term(term)
        return made

    def _term(self, term: Term) -> _Term:
        kind = self._library.fg_hist_kind_by_name(term.kind.encode())
        assert kind >= 0
        made = _Term(len(term.steps), kind, _MODIFIERS[term.modifier], term.bucket)
        for place, (name, *arguments) in enumerate(term.steps):
            step = made.steps[place]
            step.op = self._library.fg_hist_op_by_name(str(name).encode())
            assert step.op < 255, name
            if name == "field":
                offset, type_ = self._place(str(arguments[0]))
                step.field = _Field(offset, self._library.fg_field_type_by_name(type_.encode()), 0)
            elif name == "number":
                step.number = int(arguments[0])
            elif name == "variable":
                step.index = int(arguments[0])
        return made

    def _place(self, name: str) -> tuple[int, str]:
        common = {"common_type": (0, "u16"), "common_flags": (2, "u8"), "common_preempt_count": (3, "u8")}
        return common.get(name) or self._offsets[name]

    def image(self, pid: int, values: dict[str, Any]) -> bytes:
        fixed, rest = struct.pack("<HBBi", 0, 0, 0, pid), b""
        for field in self._fields:
            value = values.get(field.name, 0 if field.type not in ("string", "value", "object") else "")
            if field.type in ("string", "value", "object"):
                data = tagged(value) if field.type != "string" else value.encode() + b"\0"
                value = self._end + len(rest) | len(data) << 16
                rest += data
            fixed += struct.pack("<" + _FORMATS[field.type], value)
        return fixed + rest

    def hit(
        self,
        *,
        pid: int = 1,
        cpu: int = 0,
        time_ns: int = 0,
        comm: str = "work",
        stack: Sequence[int] = (),
        variables: Sequence[_Loaded] = (),
        **values: Any,
    ) -> _Hit:
        image = self.image(pid, values)
        callers = (_Caller * len(stack))(*[_Caller(function, 0) for function in stack])
        loaded = (_Loaded * len(variables))(*variables)
        self._kept = callers, loaded, image
        pointer = ctypes.cast(loaded, ctypes.c_void_p)
        return _Hit(image, len(image), cpu, time_ns, comm.encode(), callers, len(stack), pointer)

    def count(self, **hit: Any) -> bool:
        return bool(self._library.fg_hist_count(self._hist, ctypes.byref(self.hit(**hit))))

    def act(self, **hit: Any) -> list[bool]:
        """Count a hit; return which of onmax() and onchange() are due."""
        made = self.hit(**hit)
        element = ctypes.c_void_p(self._library.fg_hist_count(self._hist, ctypes.byref(made)))
        actions = [action for action in self.spec.actions if action.handler != "onmatch"]
        return [
            self._library.fg_hist_track(self._hist, element, place, ctypes.byref(made))
            for place in range(len(actions))
        ]

    def take(self, other: Histogram, index: int, **hit: Any) -> _Loaded:
        """Take a variable of another histogram for a hit of this one."""
        made = self.hit(**hit)
        self._words = (ctypes.c_uint64 * 15)()
        taken = _Loaded()
        self._library.fg_hist_take(
            other._hist, self._hist, ctypes.byref(made), index, self._words, ctypes.byref(taken)
        )
        return taken

    def rows(self) -> tuple[list[Row], int]:
        dropped = ctypes.c_uint64()
        n = self._library.fg_hist_snapshot(self._hist, None, 0, ctypes.byref(dropped))
        data = ctypes.create_string_buffer(8 * self._library.fg_hist_row_words(self._hist) * n)
        self._library.fg_hist_snapshot(self._hist, data, n, ctypes.byref(dropped))
        return decode_rows(self.spec, data.raw), dropped.value
