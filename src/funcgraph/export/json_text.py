"""JSON that every reader takes: without lone surrogates, NaN and infinities."""

from __future__ import annotations

import json

from funcgraph.export.values import escaped

_encode = json.JSONEncoder(separators=(",", ":")).encode


def json_text(value: object) -> str:
    """Return a value as JSON in ASCII. Lone surrogates, which many readers refuse, are escaped.

    Args:
        value: a `Plain`, or dicts and lists of these.
    """
    text = _encode(value)
    return _encode(_without_surrogates(value)) if "\\ud" in text else text


def _without_surrogates(value: object) -> object:
    if isinstance(value, dict):
        return {escaped(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return escaped(value) if isinstance(value, str) else value
