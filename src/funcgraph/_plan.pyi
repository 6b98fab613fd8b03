"""What plans of native functions need of C."""

from typing_extensions import Buffer

def checksum(data: Buffer, /) -> int:
    """Return the checksum of a plan's tables: FNV-1a with 64 bits."""
