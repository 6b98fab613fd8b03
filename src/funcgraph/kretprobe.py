"""Kretprobe: a handler at the return of one function, with data from its entry. An fprobe does the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgraph import _engine
from funcgraph._engine import Fprobe, FtraceRegs, Function, ReturnAddress
from funcgraph.fprobe import register_fprobe_syms


class KretprobeInstance:
    """One call of the probed function: what the handlers of a Kretprobe are told; the kernel's struct
    kretprobe_instance.

    Attributes:
        rp: the Kretprobe.
        function: the Function that was called.
        ret_ip: where the call returns to: a ReturnAddress, or None.
        data: a writable view of data_size bytes, the same at entry and return; None with a data_size of 0. Of
            use while the handler runs.
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
        entry_handler: called so at the entry; a true answer: the handler is not called for this call.
        data_size: bytes that are kept from entry to return, at most 120.
        maxactive: taken as the kernel's is, and of no meaning here: there is no limit of calls in flight.
        name: what error messages call it.
        keep_on_error: it stays enabled after a handler has raised.
        save_regs: regs.get_regs() gives the full frame.

    Exceptions of handlers are treated as an Fprobe's.
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
            raise TypeError(f"handler: a function is needed, not {type(handler).__name__}")
        if entry_handler is not None and not callable(entry_handler):
            raise TypeError(
                f"entry_handler: a function or None is needed, not {type(entry_handler).__name__}"
            )
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
        """The fprobe that does the work: its errors, last_error, enabled and registered are this probe's."""

    @property
    def nmissed(self) -> int:
        """Calls that the handlers could not be called for, as an Fprobe's."""
        return self.fprobe.nmissed

    @property
    def registered(self) -> bool:
        """It is on its function."""
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
    """Put a kretprobe on a function. The kernel's register_kretprobe().

    Args:
        rp: the probe. It is kept alive while it is registered.
        symbol: the whole name of the function ("module.qualname"), or the function itself, as
            register_fprobe_ips takes it.

    Raises:
        As register_fprobe_syms and register_fprobe_ips.
    """
    if isinstance(symbol, str):
        register_fprobe_syms(rp.fprobe, [symbol])
    else:
        _engine.register_fprobe_ips(rp.fprobe, [symbol])


def unregister_kretprobe(rp: Kretprobe) -> None:
    """Take a kretprobe off; returns when its handlers run no more, but for the caller itself. Calls in
    progress get no handler. The kernel's unregister_kretprobe().

    Raises:
        OSError: EINVAL (it is not registered).
    """
    _engine.unregister_fprobe(rp.fprobe)


def enable_kretprobe(rp: Kretprobe) -> None:
    """Call its handlers again. The kernel's enable_kretprobe().

    Raises:
        OSError: EINVAL (it is not registered).
    """
    _engine.enable_fprobe(rp.fprobe)


def disable_kretprobe(rp: Kretprobe) -> None:
    """Do not call its handlers; it stays where it is. The kernel's disable_kretprobe().

    Raises:
        OSError: EINVAL (it is not registered).
    """
    _engine.disable_fprobe(rp.fprobe)
