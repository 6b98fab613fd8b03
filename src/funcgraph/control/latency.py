"""The former place of funcgraph.instance.latency."""

from funcgraph.instance.latency import Event, Latency, Section

__all__ = ["Event", "Latency", "Section"]
