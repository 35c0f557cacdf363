"""The do-nothing members of each family, writing words to one log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.collectors.dry import DryCollector
from orchestrator.databases.dry import DryDatabase
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.metrics import measured
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Node,
    Phase,
    Volume,
    Workload,
)
from orchestrator.parts import (
    ChangedLimits,
    ClientLoad,
    Disks,
    Levers,
    Parts,
    Result,
    TierAbilities,
)
from orchestrator.platforms.common import packages
from orchestrator.powers import World
from orchestrator.tier import Gate, GateCheck, Tier
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.tiers.dry import DryTier
from tests.fakes import Log

# The end of a run on the parts below, as it stands in their log.
DOWN = [
    "client down",
    "logs of node-1",
    "database down",
    "network down",
    "disks of premium down",
]


class FakeTier(DryTier):
    """The do-nothing tier; `restores` and the word of its gate are as told. `changeable`: limits
    that can be changed while a load runs, with no effect."""

    name = "emulated"
    changeable: tuple[str, ...] = ()

    @property
    def abilities(self) -> TierAbilities:
        limits = ChangedLimits(
            *(self.lift, self.enforce, self.require_enforced, self.levers),
            *(self.slow, self.restore),
        )
        return replace(super().abilities, limits=limits)

    def __init__(self, log: Log, restores: bool, verdict: Any = "ok") -> None:
        self._log, self._restores, self.verdict = log, restores, verdict

    def check(self, tier: Tier, world: World) -> None:
        self._log.say(f"check {tier.name}")

    def snapshots(self, *arguments: Any) -> tuple[Path, ...]:
        return super().snapshots(*arguments) if self._restores else ()

    @contextmanager
    def attached(self, tier: Tier, *rest: Any) -> Iterator[Disks]:
        with (
            self._log.bracket(f"disks of {tier.name}"),
            super().attached(tier, *rest) as disks,
        ):
            yield disks

    @contextmanager
    def loading(self, *arguments: Any) -> Iterator[tuple[Volume, ...]]:
        with (
            self._log.bracket("unlimited disks"),
            super().loading(*arguments) as volumes,
        ):
            yield volumes

    def lift(self, *_: Any) -> None:
        self._log.say("limits lifted")

    def enforce(self, *_: Any) -> None:
        self._log.say("limits set")

    def require_enforced(self, *_: Any) -> None:
        self._log.say("limits read back")

    def levers(self, *_: Any) -> Levers:
        return {name: lambda times: None for name in self.changeable}

    def slow(self, _: Any, __: Any, slow: SlowDisk, *___: Any) -> Mapping[str, float]:
        self._log.say(f"{slow.node} is slow")
        return {"iops": slow.amount}

    def restore(
        self, _: Any, __: Any, slow: SlowDisk, *___: Any
    ) -> Mapping[str, float]:
        self._log.say(f"{slow.disk} is as declared")
        return {"iops": 100.0}

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        self._log.say(f"gate of {tier.name}")
        check = GateCheck("IOPS", "1/s", 100.0, 100.0, 5.0, self.verdict)
        return replace(super().gate(tier, world, thorough), checks=(check,))


class FakeDatabase(DryDatabase):
    """The do-nothing database."""

    name = "postgresql"

    def __init__(self, log: Log) -> None:
        self._log = log

    def check(self, spec: ClusterSpec, world: World) -> None:
        self._log.say("check database")

    @contextmanager
    def running(self, *arguments: Any) -> Iterator[Cluster]:
        with self._log.bracket("database"), super().running(*arguments) as cluster:
            yield replace(cluster, database=self.name)

    def settle(self, cluster: Cluster, world: World) -> None:
        self._log.say("settle")

    def warm(self, cluster: Cluster, world: World) -> None:
        self._log.say("warm")

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        self._log.say("begin measuring")


class FakeGenerator(DryGenerator):
    """The do-nothing load generator, but for two figures that are always the same."""

    name = "sysbench"

    def __init__(self, log: Log) -> None:
        self._log = log

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        self._log.say(f"check {workload.name}")

    @contextmanager
    def client(self, *arguments: Any) -> Iterator[Node]:
        with self._log.bracket("client"), super().client(*arguments) as client:
            yield client

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        self._log.say("load")

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        self._log.say(f"run {load.workload.name}")
        return super().run(load)

    def verify(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> Mapping[str, Any]:
        self._log.say("verify")
        return super().verify(workload, cluster, world)

    def read(self, *arguments: Any) -> Result:
        self._log.say("read")
        figures = (measured("throughput_per_s", 42.0), measured("latency_avg_s", 0.1))
        return replace(super().read(*arguments), measurements=figures)


def fake_parts(log: Log, *, restores: bool = True, gate: Any = "ok") -> Parts:
    return Parts(
        databases={"postgresql": FakeDatabase(log)},
        load_generators={"sysbench": FakeGenerator(log)},
        tiers={"emulated": FakeTier(log, restores, gate)},
        collectors=(DryCollector(),),
        packages=packages.installed,
    )
