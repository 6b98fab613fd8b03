"""zstd and zlib of Python's, for systems that do not have the C libraries.

No module is imported unless a library is missing. It is for processes that record or read traces; a traced
program must not import anything for its tracer's sake.
"""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from importlib import import_module
from types import ModuleType

from funcgraph import _tracedata

# As the C side compresses (src/tracedata/base/codec.c).
_LEVEL = 1
# Data can ask for memory beside its own size: for a window of 2**24 bytes at most.
_WINDOW_LOG_MAX = 24


def provide() -> None:
    """Provide the codecs whose C libraries the system does not have, as far as Python has them."""
    there = _tracedata.codec_names()
    if "zstd" not in there and (zstd := _import("compression.zstd", "backports.zstd")):
        _provide_zstd(zstd)
    if "zlib" not in there and (zlib := _import("zlib")):
        _tracedata.provide_codec("zlib", partial(zlib.compress, level=_LEVEL), zlib.decompressobj)


def versions(in_c: Container[str]) -> dict[str, str]:
    """Return the versions of the libraries that compress, by the name of the codec; "" of one without.

    Args:
        in_c: the codecs of which the C library is used; the others are Python's.
    """
    return {
        name: _version_in_c(name) if name in in_c else _version_of_python(name)
        for name in _tracedata.codec_names()
        if name != "none"
    }


def _version_in_c(name: str) -> str:
    import ctypes  # the library is loaded already, by the same name (src/tracedata/base/codec.c)

    library, function = {
        "zstd": ("libzstd.so.1", "ZSTD_versionString"),
        "zlib": ("libz.so.1", "zlibVersion"),
    }[name]
    try:
        ask = getattr(ctypes.CDLL(library), function)
    except (OSError, AttributeError):
        return ""
    ask.restype = ctypes.c_char_p
    return (ask() or b"").decode(errors="replace")


def _version_of_python(name: str) -> str:
    if name == "zlib":
        return str(getattr(_import("zlib"), "ZLIB_RUNTIME_VERSION", ""))
    return str(getattr(_import("compression.zstd", "backports.zstd"), "zstd_version", ""))


# All of these are C functions: python_codec.c tells why.
def _provide_zstd(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor(level=_LEVEL)
    options = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG_MAX}
    _tracedata.provide_codec(
        "zstd",
        partial(compressor.compress, mode=compressor.FLUSH_FRAME),
        partial(zstd.ZstdDecompressor, options=options),
    )


def _import(*names: str) -> ModuleType | None:
    """Return the first of these modules that can be imported."""
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            pass
    return None
