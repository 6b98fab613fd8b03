"""How many files a recorder may have open: it needs some descriptors for each traced process."""

from __future__ import annotations

import resource

__all__ = ["raise_descriptor_limit"]


def raise_descriptor_limit() -> None:
    """Raise the limit of this process, and of children that it starts from now on, as far as it may.

    Beyond half of it the rings of further processes are read without a descriptor (ring_access.c).
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
