"""The rows of a histogram: from the engine's words to Python objects, and their order."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcgraph.events.hist_plan import KIND_WORDS, Plan, Term, compile_plan, sum_of
from funcgraph.events.hist_spec import HistSpec, SortKey

__all__ = ["Extreme", "Held", "Key", "Row", "Taken", "columns", "decode_rows", "decode_taken", "sorted_rows"]

# enum fg_loaded_kind (src/engine/ring/field.h) and the tags of what is no number (record.h).
_SIGNED, _UNSIGNED, _FLOAT, _TEXT, _OBJECT = range(1, 6)
_TAG_NONE, _TAG_BIGINT, _TAG_BYTES, _TAG_SIZED = 1, 6, 9, 10

_HEADER = struct.Struct("<BBB5x")
_READ = {"fetched": "number", "fetched_real": "real"}  # of what was read
_SIGN_BIT = 1 << 63


class Held(NamedTuple):
    """A key that is no number and no text: None, an object, what could not be read."""

    text: str


#: A stack is the ids of its functions, the innermost first.
Key = int | float | str | bytes | Held | tuple[int, ...]


class Extreme(NamedTuple):
    """What onmax() or onchange() keeps for a row.

    Attributes:
        label: "max" or "changed".
        value: of the variable.
        saved: names and values of save().
    """

    label: str
    value: int | float
    saved: tuple[tuple[str, Key], ...] = ()


class Row(NamedTuple):
    """A row.

    Attributes:
        number: lower ones came first.
        keys: one for each key.
        hitcount: how many hits.
        sums: one for each of the plan's values.
        comm: of the thread that hit it first, if the plan keeps it.
        extremes: what actions keep.
    """

    number: int
    keys: tuple[Key, ...]
    hitcount: int
    sums: tuple[int | float, ...]
    comm: str = ""
    extremes: tuple[Extreme, ...] = ()


class Taken(NamedTuple):
    """The snapshot that an action took last.

    Attributes:
        action: `onmax($lat)`.
        value: of the variable.
        row: the row that was hit, as far as its keys go.
    """

    action: str
    value: int | float
    row: Row


def decode_rows(spec: HistSpec, data: bytes | memoryview) -> list[Row]:
    """Return the rows of a snapshot, in the order in which they came.

    Args:
        spec: the trigger.
        data: what fg_hist_snapshot() stores (src/engine/hist/hist.h).
    """
    decoder = _Decoder(spec, compile_plan(spec))
    rows = [decoder.row(data[at : at + decoder.bytes]) for at in range(0, len(data), decoder.bytes)]
    return sorted(rows, key=lambda row: row.number)


def decode_taken(spec: HistSpec, data: bytes) -> Taken:
    """Return what a snapshot() action took the last one at.

    Args:
        spec: the trigger.
        data: what fg_hist_taken_read() stores (src/engine/hist/hist_taken.h).
    """
    decoder = _Decoder(spec, compile_plan(spec))
    tracking = [action for action in spec.actions if action.handler != "onmatch"]
    place = [action.action for action in tracking].index("snapshot")
    action = tracking[place]
    keys, _ = decoder.keys(data, 24)
    row = Row(0, keys, 0, (), _text(data[8:24]))
    return Taken(f"{action.handler}(${action.variable})", decoder.tracked(place, data[:8]), row)


class _Decoder:
    def __init__(self, spec: HistSpec, plan: Plan) -> None:
        self._spec = spec
        self._plan = plan
        sums = sum(2 if term.kind == "value" else 1 for term in plan.values)
        words = 1 + sum(KIND_WORDS[term.kind] for term in plan.keys) + 1 + sums
        words += (2 if plan.keeps_comm else 0) + len(plan.tracked)
        words += 1 + sum(KIND_WORDS[term.kind] for term in plan.saved) if plan.saved else 0
        self.bytes = 8 * words

    def row(self, data: bytes | memoryview) -> Row:
        data = bytes(data)
        (number,) = struct.unpack_from("<Q", data)
        keys, at = self.keys(data, 8)
        (hitcount,) = struct.unpack_from("<Q", data, at)
        at += 8
        sums: list[int | float] = []
        for term in self._plan.values:
            sums.append(_sum(term, data, at))
            at += 16 if term.kind == "value" else 8
        comm = _text(data[at : at + 16]) if self._plan.keeps_comm else ""
        at += 16 if self._plan.keeps_comm else 0
        return Row(number, keys, hitcount, tuple(sums), comm, self._extremes(data[at:]))

    def keys(self, data: bytes, at: int) -> tuple[tuple[Key, ...], int]:
        """Return the keys that begin at a place, and where they end."""
        keys = []
        for term in self._plan.keys:
            end = at + 8 * KIND_WORDS[term.kind]
            keys.append(_key(term, data[at:end]))
            at = end
        return tuple(keys), at

    def tracked(self, place: int, data: bytes) -> int | float:
        """Return the value of what is tracked as the plan's that one."""
        term = self._plan.variables[self._plan.tracked[place].variable]
        if term.kind in ("number", "fetched"):
            return _integer(int.from_bytes(data, "little"), term)
        return _whole(float(struct.unpack("<d", data)[0]))

    def _extremes(self, data: bytes) -> tuple[Extreme, ...]:
        """snapshot() has no line in each row."""
        saved = self._saved(data[8 * len(self._plan.tracked) :])
        found = []
        actions = [action for action in self._spec.actions if action.handler != "onmatch"]
        for place, (action, track) in enumerate(zip(actions, self._plan.tracked, strict=True)):
            value = self.tracked(place, data[8 * place : 8 * place + 8])
            if action.action != "snapshot":
                its_saved = saved if action.action == "save" else ()
                found.append(Extreme("changed" if track.is_change else "max", value, its_saved))
        return tuple(found)

    def _saved(self, data: bytes) -> tuple[tuple[str, Key], ...]:
        if not self._plan.saved or not int.from_bytes(data[:8], "little"):
            return ()
        (action,) = (action for action in self._spec.actions if action.action == "save")
        found, at = [], 8
        for term, param in zip(self._plan.saved, action.params, strict=True):
            end = at + 8 * KIND_WORDS[term.kind]
            found.append((param.text, _key(term, data[at:end])))
            at = end
        return tuple(found)


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode("utf-8", "replace")


def _integer(word: int, term: Term) -> int:
    return word - (1 << 64) if term.is_signed and word & _SIGN_BIT else word


def _whole(real: float) -> int | float:
    """Return a value of a field without a type as an int if it is one."""
    return int(real) if real.is_integer() and abs(real) < 1 << 53 else real


def _key(term: Term, data: bytes) -> Key:
    if term.kind in ("fetched", "fetched_real"):
        is_fault = any(data[:8])
        return Held("(fault)") if is_fault else _key(term._replace(kind=_READ[term.kind]), data[8:])
    if term.kind == "real":
        return float(struct.unpack("<d", data)[0])
    word = int.from_bytes(data[:8], "little")
    if term.kind == "number":
        # The exponent of log2 is never negative.
        return word if term.modifier == "log2" else _integer(word, term)
    if term.kind == "stack":
        return struct.unpack_from(f"<{word}I", data, 8)
    if term.kind == "value":
        return _value(data)
    return data[8 : 8 + word].decode("utf-8", "replace")


def _value(data: bytes) -> Key:
    kind, length, tag = _HEADER.unpack_from(data)
    content, text = data[8:16], data[16 : 16 + length]
    if kind in (_SIGNED, _UNSIGNED):
        return int.from_bytes(content, "little", signed=kind == _SIGNED)
    if kind == _FLOAT:
        return float(struct.unpack("<d", content)[0])
    name = text.decode("utf-8", "replace")
    if kind == _TEXT:
        return text if tag == _TAG_BYTES else name
    if kind == _OBJECT:
        number = int.from_bytes(content, "little")
        return Held(f"{name}({number})" if tag == _TAG_SIZED else f"<{name} at {number:#x}>")
    return Held({_TAG_NONE: "None", _TAG_BIGINT: "(overflow)"}.get(tag, "(fault)"))


def _sum(term: Term, data: bytes, at: int) -> int | float:
    if term.kind == "real":
        return float(struct.unpack_from("<d", data, at)[0])
    word = int.from_bytes(data[at : at + 8], "little")
    if term.kind == "number":
        return _integer(word, term)
    real = float(struct.unpack_from("<d", data, at + 8)[0])
    whole = word - (1 << 64) if word & _SIGN_BIT else word
    return whole + real if real else whole


# ---- order


def _order(key: Key) -> tuple[int, bool, Key]:
    """Keys of one field may be of several kinds: numbers, NaN as the last, then texts, then anything else."""
    if isinstance(key, int | float):
        is_nan = key != key
        return (0, is_nan, 0 if is_nan else key)
    return ({str: 1, bytes: 2, Held: 3}.get(type(key), 4), False, key)


def columns(spec: HistSpec, rows: Sequence[Row]) -> list[list[int | float]]:
    """Return for each value of the trigger what it is in each row."""
    sums = [sum_of(spec, place) for place in range(len(spec.values))]
    return [[row.hitcount if which is None else row.sums[which] for row in rows] for which in sums]


def _value_of(spec: HistSpec, key: SortKey) -> Callable[[Row], tuple[int, bool, Key]]:
    place = key.place
    if key.what == "key":
        return lambda row: _order(row.keys[place])
    which = sum_of(spec, place) if key.what == "value" else None
    return lambda row: _order(row.hitcount if which is None else row.sums[which])


def sorted_rows(spec: HistSpec, rows: Sequence[Row]) -> list[Row]:
    """Return the rows in the order that the trigger asks for; equal ones in the order in which they came."""
    ordered = list(rows)
    for key in reversed(spec.sort):
        ordered.sort(key=_value_of(spec, key), reverse=key.is_descending)
    return ordered
