"""A tool that lists the functions of a module that were never called."""

from __future__ import annotations

import types

import funcgraph


class Reached:
    """Notes which functions of `module` run. It wants no returns, and sees each function once."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module
        self.names: set[str] = set()
        self.ops = funcgraph.FgraphOps(self._entry, filter=[f"{module.__name__}.*"], name="reached")

    def _entry(self, trace: funcgraph.GraphEnt, ops: funcgraph.FgraphOps, regs: funcgraph.FtraceRegs) -> bool:
        self.names.add(trace.func.qualname)
        ops.set_notrace([trace.func.name])  # once is enough: its further calls cost nothing
        return False

    def report(self) -> str:
        functions = [
            name for name, value in vars(self.module).items() if isinstance(value, types.FunctionType)
        ]
        missing = sorted(set(functions) - self.names)
        return (
            f"reached {len(functions) - len(missing)} of {len(functions)}; never: {', '.join(missing) or '-'}"
        )
