"""The do-nothing members of each family, writing words to one log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.figures import transactions
from orchestrator.collectors.dry import DryCollector
from orchestrator.databases.dry import DryDatabase
from orchestrator.facts import GeneratorFacts, TriedLimit
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
    changeable: tuple[TriedLimit, ...] = ()

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


_RATE_PER_S = 42.0
_LATENCY_S = 0.1


class FakeGenerator(DryGenerator):
    """The do-nothing load generator, whose figures and tables are always the same."""

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
        workload = load.workload
        clock = load.world.clock
        self._log.say(f"run {workload.name}")
        start_s = clock.now()
        middle_s = start_s + workload.warmup_s
        end_s = middle_s + workload.measure_s
        load.world.window_begins(middle_s)
        clock.sleep(end_s - start_s)
        return Phase("warm-up", start_s, middle_s), Phase("measure", middle_s, end_s)

    def verify(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> Mapping[str, Any]:
        self._log.say("verify")
        return super().verify(workload, cluster, world)

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        self._log.say("read")
        figures = (
            measured("throughput_per_s", _RATE_PER_S),
            measured("latency_avg_s", _LATENCY_S),
        )
        begun_s = start_s - workload.warmup_s
        table = _transactions(end_s - begun_s)
        return Result(
            figures,
            _since(begun_s, "time_s", _intervals(workload.warmup_s, end_s - begun_s)),
            (_since(begun_s, "start_s", table),),
            GeneratorFacts(),
        )


@cache
def _transactions(lasts_s: float) -> pd.DataFrame:
    """Those of a run that begins at 0, one like the other. Made once, because to make them takes
    longer than the rest of a run on fake parts."""
    starts_s = np.arange(0.0, lasts_s - _LATENCY_S, 1 / _RATE_PER_S)
    return pd.DataFrame(
        {
            "start_s": starts_s,
            "latency_s": _LATENCY_S,
            "queue_s": 0.0,
            "type": pd.Categorical(["point-select"] * len(starts_s)),
            "outcome": transactions.COMMITTED,
            "retries": 0,
            "sqlstate": "",
        }
    )


@cache
def _intervals(warmup_s: float, lasts_s: float) -> pd.DataFrame:
    phases = {"warm-up": (0.0, warmup_s), "measure": (warmup_s, lasts_s)}
    return transactions.intervals(_transactions(lasts_s), phases)


def _since(begun_s: float, column: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table of a run that began then."""
    return table.assign(**{column: begun_s + table[column]})


def fake_parts(log: Log, *, restores: bool = True, gate: Any = "ok") -> Parts:
    return Parts(
        databases={"postgresql": FakeDatabase(log)},
        load_generators={"sysbench": FakeGenerator(log)},
        tiers={"emulated": FakeTier(log, restores, gate)},
        collectors=(DryCollector(),),
        packages=packages.installed,
    )
