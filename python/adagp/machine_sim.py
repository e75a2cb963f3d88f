"""Training accelerators that look at operands: TensorDash, FAST, Procrustes, CAMEL, in-place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import _core
from ._impl.arguments import number, text, whole
from .errors import UsageError


def machines() -> list[str]:
    """What `machine` of `adagp.simulate` may be."""
    return _core.machine_names()


class MachineSimulation:
    """A network on a machine, compared with the same machine without its trick.

    `details()` has all figures, by the names of the program's `--machine ... --json`.
    """

    def __init__(self, result: _core.MachineResult, note: str = "") -> None:
        self._result = result
        self._details: dict[str, Any] | None = None
        self.note = note

    def details(self) -> dict[str, Any]:
        """Everything, layer by layer, as `--per-layer --json` of the program."""
        if self._details is None:
            self._details = json.loads(self._result.json(True))
        return self._details

    @property
    def speedup(self) -> float:
        """Of the products of a BP batch over the machine without its trick."""
        return float(self.details()["machine_speedup"])

    @property
    def energy_ratio(self) -> float:
        """Energy of these products, with the trick over without."""
        return float(self.details()["machine_energy_ratio"])

    @property
    def passes(self) -> dict[str, dict[str, float]]:
        """Forward pass, input gradient and weight gradient: cycles, energies, speed-ups."""
        passes: dict[str, dict[str, float]] = self.details()["passes"]
        return passes

    @property
    def designs(self) -> dict[str, dict[str, float]]:
        """ADA-GP on top, by design."""
        designs: dict[str, dict[str, float]] = self.details()["designs"]
        return designs

    @property
    def guesses(self) -> list[str]:
        """Energies and rules of the machine that have no published source."""
        return list(self.details()["guesses"])

    def json(self) -> str:
        """The JSON that the program writes."""
        return self._result.json(False)

    def svg(self) -> str:
        """The picture that the program draws: speed-ups by layer, of camel lifetimes."""
        return self._result.svg()

    def __repr__(self) -> str:
        return "\n".join(part for part in (self.note, self._result.text(False).rstrip()) if part)


def _pairs(value: Any, name: str, whole_numbers: bool) -> str:
    """{"x": 0.5, "w": 0.9}, or the text of the program's flag, as that text."""
    if value is None:
        return ""
    if not isinstance(value, Mapping):
        return text(value, name)
    if not value:
        raise UsageError(f"{name} is empty, expected at least one key")
    read = whole if whole_numbers else number
    return ",".join(f"{text(key, name)}={read(one, name)!r}" for key, one in value.items())


def run_machine(options: _core.SimulateOptions, machine: str, trace: Any, sparsity: Any, bits: Any,
                note: str = "") -> MachineSimulation:  # fmt: skip
    """Runs `options` on a machine."""
    if trace is not None and not isinstance(trace, str) and not hasattr(trace, "__fspath__"):
        raise UsageError(f"trace is {trace!r}, expected a run folder or a trace file")
    result = _core.run_machine(
        options,
        text(machine, "machine"),
        "" if trace is None else str(trace),
        _pairs(sparsity, "sparsity", False),
        _pairs(bits, "bits", True),
    )
    return MachineSimulation(result, note)
