"""Gates that passed, kept in the cache and used again by later campaigns.

A gate is kept under all that it depends on: the tier's limits, how they are enforced, the image of
the disk, the fio jobs, the machine with its memory, the disk on which its files lie. While that is
unchanged, it holds for seven days. Real disks are always measured.
"""

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from orchestrator import errors, parts, powers
from orchestrator.system import files, marked, marked_folders
from orchestrator.tier import Gate, Tier, as_written
from orchestrator.units import format_seconds

MAX_AGE_S = 7 * 86_400.0
_KEY_DIGITS = 16  # digits of the hash of all that a gate depends on
_SCHEMA_VERSION = 2  # the form of kept gates: checks have their quantity
# These fields of a tier change nothing on the device.
_NAMES = (
    "name",
    "title",
    "like",
    "price",
    "source",
    "as_of",
    "notes",
    "burst",
    "burst_time_scale",
    "latency_assumed",
    "read_latency_measured",
    "write_latency_measured",
    "catalog_type",
    "vm_limits",
    "size_bytes",
    "product",
    "bought_iops",
    "bought_bytes_per_s",
    "snapshots",
    "storage_class",
)


@dataclass(frozen=True)
class GatePlace:
    """A machine that runs nodes of a database. `nodes`: those, if there are several machines."""

    machine: powers.Machine
    nodes: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """` on server-1`; empty if there is one machine."""
        if not self.nodes:
            return ""
        return f" on {self.machine.name}"


@functools.cache
def _form() -> TypeAdapter[Gate]:
    """Made once: it takes longer than to read with it."""
    return TypeAdapter(Gate)


class KeptGates:
    """The gates that passed, in the cache of this computer."""

    def __init__(
        self, mechanisms: Mapping[str, parts.TierMechanism], world: powers.World
    ) -> None:
        self._mechanisms = mechanisms
        self._world = world

    def find(self, tier: Tier, place: GatePlace) -> Gate | None:
        """The gate that was kept of this disk, if it still holds."""
        file = self._file(tier, place)
        if file is None or not file.is_file():
            return None
        try:
            gate = _form().validate_json(file.read_bytes())
        except ValidationError:
            return None  # written by another version: take it anew
        age_s = self._world.clock.now() - gate.taken_s
        # A clock that was set back gives an age below zero.
        if not gate.passed or not 0 <= age_s <= MAX_AGE_S:
            return None
        passed = f"passed {format_seconds(age_s)} ago, nothing changed since"
        self._world.progress.note(
            f"disk check of {tier.name}{place.in_words}: {passed}"
        )
        return replace(gate, tier=tier.name, reused=True)

    def _file(self, tier: Tier, place: GatePlace) -> Path | None:
        """The file in which the disk check is kept.

        None if it is not, as when the disk of its files is not seen.
        """
        kept_gate = self._mechanisms[tier.disk.enforcement].abilities.kept_gate
        if kept_gate is None:
            return None
        world = self._world
        try:
            identity = kept_gate(place.machine, world)
            machine = _machine_identity(place.machine, world)
        except (OSError, errors.TierbenchError):
            # A disk that cannot be identified may be another one next time.
            return None
        content = {
            **identity,
            "schema_version": _SCHEMA_VERSION,
            "limits": _device_limits(tier),
            "machine": machine,
        }
        # Sorted, because the same disk must have the same key however its facts are ordered.
        written = json.dumps(content, sort_keys=True).encode()
        key = hashlib.sha256(written).hexdigest()[:_KEY_DIGITS]
        return world.cache / "truth-gates" / f"{key}.json"

    def keep(self, gate: Gate, tier: Tier, place: GatePlace) -> None:
        """Keeps the gate, where that may be."""
        file = self._file(tier, place)
        if file is None:
            return
        marked.make(str(file.parent), marked_folders.owner(self._world))
        files.write_json(file, asdict(gate))


def _machine_identity(machine: powers.Machine, world: powers.World) -> list[Any]:
    """What identifies the machine. A check says nothing of another machine, engine or kernel."""
    facts = machine.facts()
    return [
        world.platform.facts().get("ID"),
        machine.name,
        facts.kernel,
        facts.cpus,
        facts.cpu_model,
        facts.memory_bytes,
    ]


def _device_limits(tier: Tier) -> dict[str, Any]:
    """What a tier declares that changes something on the device."""
    declared = as_written(tier)
    for name in _NAMES:
        # A tier that is only renamed or repriced has the same device, and keeps its
        # gate.
        declared.pop(name, None)
    return dict(declared)
