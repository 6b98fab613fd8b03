"""A latency tracer as the current tracer of an instance, whose buffer has the graph inside sections."""

from __future__ import annotations

from funcgraph import _engine


class InstanceLatency:
    """The latency tracer of an instance. It runs from its construction until stop().

    Args:
        tracer: its name.
        engine: the instance.
        thresh_us: tracing_thresh.
        display_graph: the instance will record the function graph.

    Raises:
        OSError: EBUSY: another instance has the tracer. EOPNOTSUPP: it does not work with this CPython; the
            text says why.
        RuntimeError: no hook is free.
    """

    def __init__(self, tracer: str, engine: _engine.Instance, thresh_us: int, display_graph: bool) -> None:
        self.tracer = tracer
        _engine.latency_start(tracer, 0, engine.handle if display_graph else 0, engine.handle)
        self.thresh_us = thresh_us
        graph = _engine.latency_get(tracer)["graph"] if display_graph else None
        self.graph: tuple[str, ...] = (graph,) if graph else ()  # used if set_graph_function is empty

    def stop(self) -> None:
        """Stop the tracer."""
        _engine.latency_stop(self.tracer)

    @property
    def thresh_us(self) -> int:
        """tracing_thresh, in us."""
        return self._thresh_us

    @thresh_us.setter
    def thresh_us(self, thresh_us: int) -> None:
        self._thresh_us = thresh_us
        _engine.latency_set_thresh(self.tracer, thresh_us * 1000)

    @property
    def max_latency_us(self) -> int:
        """tracing_max_latency, in us."""
        return int(_engine.latency_get(self.tracer)["max_ns"]) // 1000

    @max_latency_us.setter
    def max_latency_us(self, latency_us: int) -> None:
        _engine.latency_set_max(self.tracer, latency_us * 1000)

    def report(self) -> str:
        """Return its section as text."""
        return _engine.untraced(_report, self.tracer)


def _report(tracer: str) -> str:
    from funcgraph.instance.latency import report  # imported when somebody reads

    return report(tracer)
