"""The truth gates of a campaign: taken before a tier's first use, kept, and used again.

A gate that passed is kept in the cache under all that it depends on: the tier's limits, how they
are enforced, the image of the disk, the fio jobs, kernel and processor. While that is unchanged,
later campaigns use it again for seven days. Real disks are always measured.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from orchestrator.errors import GateError
from orchestrator.model import Gate, Tier
from orchestrator.parts import KeepsGate, TierMechanism
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.system import store
from orchestrator.tiers.common import host_load
from orchestrator.units import format_quantity, format_seconds

MAX_AGE_S = 7 * 86_400.0
_RETRIES = 2
# These fields of a tier change nothing on the device.
_NAMES = (
    *("name", "title", "like", "price", "source", "as_of", "notes"),
    *("burst", "burst_time_scale", "latency_assumed", "snapshots"),
)


class Gates:
    """The truth gates, one of each tier, taken at most once a campaign."""

    def __init__(self, mechanisms: Mapping[str, TierMechanism], world: World) -> None:
        self._mechanisms, self._world = mechanisms, world
        self._taken: dict[str, Gate] = {}
        self._attempts = 0

    def of(self, tier: Tier) -> Gate:
        """The tier's gate, passed or not: kept from before, or taken now."""
        if tier.name not in self._taken:
            self._taken[tier.name] = self._kept(tier) or self.measure(tier)
        return self._taken[tier.name]

    def measure(self, tier: Tier, thorough: bool = False) -> Gate:
        """Takes the gate now; keeps it if it passed."""
        question = f"truth gate: is the disk what {tier.title} declares?"
        self._world.progress.step(question, 180 if thorough else 15)
        mechanism = self._mechanisms[tier.enforcement]
        gate = mechanism.gate(tier, self._scoped(), thorough)
        for _ in range(0 if thorough else _RETRIES):
            if gate.passed:
                break
            # A busy moment of this machine may fail an honest disk; a dishonest one fails on.
            gate = mechanism.gate(tier, self._scoped())
        if gate.passed and gate.checks and (file := self._file(tier)):
            file.parent.mkdir(parents=True, exist_ok=True)
            store.write_json(file, asdict(gate))
        return gate

    def _scoped(self) -> World:
        """A world with its own names for each attempt: leftovers of one do not hinder the next."""
        self._attempts += 1
        return replace(self._world, scope=f"{self._world.scope}-g{self._attempts}")

    def _kept(self, tier: Tier) -> Gate | None:
        file = self._file(tier)
        if file is None or not file.is_file():
            return None
        try:
            gate = TypeAdapter(Gate).validate_json(file.read_bytes())
        except ValidationError:
            return None  # written by another version: take it anew
        age_s = self._world.clock.now() - gate.taken_s
        if not gate.passed or not 0 <= age_s <= MAX_AGE_S:
            return None
        ago = f"{format_seconds(age_s)} ago"
        self._world.progress.note(f"truth gate of {tier.name}: passed {ago}, nothing changed since")
        return replace(gate, tier=tier.name, reused=True)

    def _file(self, tier: Tier) -> Path | None:
        mechanism = self._mechanisms[tier.enforcement]
        if not isinstance(mechanism, KeepsGate):
            return None
        identity = mechanism.gate_identity(tier, self._world)
        if identity is None:
            return None
        here = self._world.machine.facts()
        text = json.dumps(
            {
                **identity,
                "schema_version": 2,  # checks have their quantity
                "limits": {k: v for k, v in asdict(tier).items() if k not in _NAMES},
                "jobs": own_images.content_hash(self._world.root / "workloads" / "fio"),
                "machine": [here.kernel, here.cpus, here.cpu_model],
            },
            sort_keys=True,
        )
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._world.cache / "gates" / f"{key}.json"


def require_passed(gate: Gate) -> None:
    """GateError if the disk is not what its tier declares, or this machine was too busy to tell."""
    if gate.passed:
        return
    what = f"the disk of {gate.tier} is not what the tier declares: {'; '.join(_misses(gate))}"
    advice = "figures made on it would say nothing about the tier: see docs/TIERS.md"
    if busy := " and ".join(host_load.reasons(gate)):
        what += f". This machine was busy during the check: {busy}"
        advice = "stop what else runs here and try again; an honest disk fails on a busy machine"
    raise GateError(what, advice=advice)


def _misses(gate: Gate) -> Iterator[str]:
    for check in gate.checks:
        if check.passed:
            continue
        declared = ""
        if check.declared is not None:
            declared = f", declared {format_quantity(check.declared, check.unit)}"
        measured = format_quantity(check.measured, check.unit)
        yield f"{check.limit} {check.verdict}: measured {measured}{declared}"
