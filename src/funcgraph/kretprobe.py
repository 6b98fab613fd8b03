"""Kretprobe: a handler at the return of one function, with data from its entry. It uses an fprobe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgraph import _engine
from funcgraph._engine import Fprobe, FtraceRegs, Function, ReturnAddress
from funcgraph.fprobe import register_fprobe_syms


class KretprobeInstance:
    """One call of the probed function, as the handlers of a Kretprobe get it; the kernel's struct
    kretprobe_instance.

    Attributes:
        rp: the Kretprobe.
        function: the called Function.
        ret_ip: the place that the call returns to: a ReturnAddress, or None.
        data: a writable view of data_size bytes, the same at entry and return; None with a data_size of 0. It
            is valid while the handler runs.
    """

    __slots__ = ("data", "function", "ret_ip", "rp")

    rp: Kretprobe
    function: Function
    ret_ip: ReturnAddress | None
    data: memoryview | None

    def __init__(
        self, rp: Kretprobe, function: Function, ret_ip: ReturnAddress | None, data: memoryview | None
    ) -> None:
        self.rp = rp
        self.function = function
        self.ret_ip = ret_ip
        self.data = data


KretprobeHandler = Callable[[KretprobeInstance, FtraceRegs], object]


class Kretprobe:
    """A handler at the return of a function; the kernel's struct kretprobe.

        def entry(ri, regs):
            ri.data[:] = struct.pack("q", time.monotonic_ns())

        def handler(ri, regs):
            since, = struct.unpack("q", ri.data)
            print(ri.function.name, time.monotonic_ns() - since, regs.get_return_value())

        rp = funcgraph.Kretprobe(handler, entry, data_size=8)
        funcgraph.register_kretprobe(rp, "shop.checkout")

    Args:
        handler: called as handler(ri, regs) with a KretprobeInstance and FtraceRegs, at the return.
        entry_handler: called with the same arguments at the entry. If it returns a true value, the handler is
            not called for this call.
        data_size: number of bytes kept from entry to return, at most 120.
        maxactive: accepted for compatibility with the kernel and ignored: calls in progress have no limit.
        name: its name in error messages.
        keep_on_error: the probe stays enabled after a handler has raised.
        save_regs: regs.get_regs() returns the full frame.

    If a handler raises, the same happens as for an Fprobe.
    """

    def __init__(
        self,
        handler: KretprobeHandler,
        entry_handler: KretprobeHandler | None = None,
        data_size: int = 0,
        maxactive: int = 0,
        *,
        name: str = "",
        keep_on_error: bool = False,
        save_regs: bool = False,
    ) -> None:
        if not callable(handler):
            raise TypeError(f"handler must be a function, not {type(handler).__name__}")
        if entry_handler is not None and not callable(entry_handler):
            raise TypeError(f"entry_handler must be a function or None, not {type(entry_handler).__name__}")
        self.handler = handler
        self.entry_handler = entry_handler
        self.data_size = data_size
        self.maxactive = maxactive
        self.fprobe = Fprobe(
            None if entry_handler is None else self._entry,
            self._exit,
            data_size,
            name=name,
            keep_on_error=keep_on_error,
            save_regs=save_regs,
        )
        """The fprobe of this probe; its errors, last_error, enabled and registered hold for the probe."""

    @property
    def nmissed(self) -> int:
        """Number of calls for which the handlers could not run, as Fprobe.nmissed."""
        return self.fprobe.nmissed

    @property
    def registered(self) -> bool:
        """True while it is registered."""
        return self.fprobe.registered

    def _entry(
        self,
        fp: Fprobe,
        entry_ip: Function,
        ret_ip: ReturnAddress | None,
        regs: FtraceRegs,
        data: memoryview | None,
    ) -> object:
        assert self.entry_handler is not None
        return self.entry_handler(KretprobeInstance(self, entry_ip, ret_ip, data), regs)

    def _exit(
        self,
        fp: Fprobe,
        entry_ip: Function,
        ret_ip: ReturnAddress | None,
        regs: FtraceRegs,
        data: memoryview | None,
    ) -> None:
        self.handler(KretprobeInstance(self, entry_ip, ret_ip, data), regs)

    def __repr__(self) -> str:
        state = "registered" if self.registered else "not registered"
        return f"<Kretprobe {self.fprobe.name!r}, {state}>"


def register_kretprobe(rp: Kretprobe, symbol: Any) -> None:
    """Register a kretprobe for a function. The kernel's register_kretprobe().

    Args:
        rp: the probe. The engine holds a reference to it while it is registered.
        symbol: the whole name of the function ("module.qualname"), or the function itself, as for
            register_fprobe_ips().

    Raises:
        As register_fprobe_syms() and register_fprobe_ips().
    """
    if isinstance(symbol, str):
        register_fprobe_syms(rp.fprobe, [symbol])
    else:
        _engine.register_fprobe_ips(rp.fprobe, [symbol])


def unregister_kretprobe(rp: Kretprobe) -> None:
    """Unregister a kretprobe. After this has returned, none of its handlers is running, except if that
    handler is the caller. Calls in progress do not call the handler. The kernel's unregister_kretprobe().

    Raises:
        OSError: EINVAL (it is not registered).
    """
    _engine.unregister_fprobe(rp.fprobe)


def enable_kretprobe(rp: Kretprobe) -> None:
    """Enable a kretprobe. The kernel's enable_kretprobe().

    Raises:
        OSError: EINVAL (it is not registered).
    """
    _engine.enable_fprobe(rp.fprobe)


def disable_kretprobe(rp: Kretprobe) -> None:
    """Disable a kretprobe: its handlers are not called, but it stays registered. The kernel's
    disable_kretprobe().

    Raises:
        OSError: EINVAL (it is not registered).
    """
    _engine.disable_fprobe(rp.fprobe)
