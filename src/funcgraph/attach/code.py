"""The code of a process, as far as it says where a stopped thread is: src/inject/place.h."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from funcgraph.attach.errors import AttachError
from funcgraph.attach.image import Image
from funcgraph.attach.target import Target

__all__ = ["code_of", "segments_of"]

#: Allocators that count on not being left in the middle of some instructions (rseq), anywhere in them.
_ALLOCATORS = ("tcmalloc", "jemalloc")
#: Whoever defines one of the first two is an allocator, or stands before one.
_ALLOCATING = (
    "malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign",
    "valloc", "pvalloc", "malloc_trim", "malloc_usable_size", "malloc_info", "malloc_stats", "mallinfo",
    "mallinfo2", "mallopt",
)  # fmt: skip
#: By these a thread is in the loader where that has no code of its own (musl), or that is not in charge.
_LOADING = (
    "dlopen", "dlmopen", "dlclose", "dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo", "dl_iterate_phdr",
)  # fmt: skip
_LOCKING = (
    "Py_AddPendingCall", "Py_MakePendingCalls", "PyThread_acquire_lock", "PyThread_acquire_lock_timed",
    "PyThread_release_lock", "PyMutex_Lock", "PyMutex_Unlock", "_PyMutex_LockSlow", "_PyMutex_LockTimed",
    "_PyMutex_UnlockSlow", "_PyMutex_TryUnlock", "_PyParkingLot_Park", "_PyParkingLot_Unpark",
    "_PySemaphore_Wait", "_PySemaphore_Wakeup",
)  # fmt: skip

_Span = tuple[int, int]


def code_of(target: Target, loop: Iterable[_Span]) -> tuple[int, int, bytes, int, bytes, bytes, bytes, bytes]:
    """Return what `funcgraph._inject.enter()` takes as `places`, but for the lock.

    Args:
        target: the process.
        loop: start and end of each part of the interpreter's loop.
    """
    return (
        *target.code_of(target.image),
        _table(loop),
        target.signal_return(),
        segments_of(target),
        _table(_loader(target)),
        _table(_allocator(target)),
        _table(_functions(target.image, *_LOCKING)),
    )


def _table(rows: Iterable[tuple[int, ...]]) -> bytes:
    return b"".join(struct.pack(f"={len(row)}Q", *row) for row in rows)


def _functions(image: Image, *names: str) -> Iterator[_Span]:
    """Yield start and end of those of these functions that an image defines."""
    for address, size in filter(None, map(image.symbol, names)):
        yield address, address + size


def segments_of(target: Target) -> bytes:
    """Return a table of the executable segments of all images, each with its index for unwinding."""
    rows = [
        (segment.low, segment.high, image.segments[0].low, image.segments[-1].high, *image.unwind_index)
        for image in [*target.images, *_kernel_images(target)]
        for segment in image.segments
        if segment.is_code
    ]
    return _table(sorted(rows))


def _kernel_images(target: Target) -> Iterator[Image]:
    """Yield the image that the kernel maps: clock_gettime() and the like."""
    for mapping in target.mappings:
        if mapping.path == "[vdso]":
            try:
                yield Image(target.process, mapping.path, mapping.low)
            except AttachError:
                return


def _loader(target: Target) -> Iterator[_Span]:
    yield target.loader()
    for image in target.c_libraries():
        yield from _functions(image, *_LOADING)


def _allocator(target: Target) -> Iterator[_Span]:
    for image in target.images:
        if any(name in image.name for name in _ALLOCATORS):
            yield target.code_of(image)
        elif image.address(*_ALLOCATING[:2]):
            yield from _functions(image, *_ALLOCATING)
