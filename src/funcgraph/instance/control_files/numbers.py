"""Numbers in the texts of files, as the kernel's kstrtoul(text, 10) reads them."""

from __future__ import annotations

from errno import EINVAL, ERANGE

__all__ = ["unsigned"]

_ULONG_MAX = 2**64 - 1


def unsigned(name: str, text: str, right: str) -> int:
    """Return the number in a text.

    Args:
        name: the file's, for the error.
        text: the text.
        right: what the file takes, for the error.

    Raises:
        OSError: EINVAL: no number in base 10, or one below 0. ERANGE: more than 64 bits.
    """
    digits = text.removesuffix("\n").removeprefix("+")
    if not (digits.isascii() and digits.isdecimal()):
        raise OSError(EINVAL, f"invalid {name} {text.strip()!r}: must be {right}, in base 10")
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(_ULONG_MAX)) or int(digits) > _ULONG_MAX:
        raise OSError(ERANGE, f"invalid {name} {text.strip()!r}: must be {right}")
    return int(digits)
