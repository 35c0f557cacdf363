"""A warm-up of a fixed time, and one that goes on until throughput is steady."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.analysis.statistics import steadiness
from orchestrator.errors import UsageError
from orchestrator.load_generators import binding
from orchestrator.load_generators.common import program_output
from orchestrator.load_generators.sysbench import command_lines, generator as sysbench
from orchestrator.load_generators.sysbench.warm_up import (
    IN_A_ROW,
    SHORTEST_S,
    WarmUp,
    steady_facts,
)
from orchestrator.model import Cluster, Endpoint, Node, Workload
from orchestrator.parts import ClientLoad
from tests.fakes import FakeClock, fake_world
from tests.plans import a_workload

STEADY = binding.warmed(replace(a_workload(), script="sysbench/insert.lua"), "steady")


def heard(
    rates: Iterable[float],
    out: Path,
    workload: Workload = STEADY,
    end_at: Callable[[float], None] = lambda _ends_s: None,
) -> tuple[WarmUp, float]:
    """A run that reports these transactions a second, and when it started."""
    clock = FakeClock()
    client, nowhere = Node("client", "client"), Cluster("postgresql", "", (), (), "net")
    load = ClientLoad(workload, nowhere, client, out, fake_world(clock=clock))
    warming = WarmUp(load, lambda _file, line: end_at(float(line)))
    start_s = clock.now()
    warming.line("Threads started!")
    for second, rate in enumerate(rates, start=1):
        clock.sleep(1.0)
        warming.line(
            f"[ {second}s ] thds: 8 tps: {rate:.2f} qps: {rate:.2f} lat (ms,95%): 9.9"
        )
    return warming, start_s


def rising(seconds: int, settled_after_s: float, noise: float = 0.02) -> np.ndarray:
    """Throughput that approaches 1,000 from a half of it."""
    time_s = np.arange(seconds)
    level = 1000 * (1 - 0.5 * np.exp(-3 * time_s / settled_after_s))
    return level * np.random.default_rng(1).normal(1.0, noise, seconds)


def test_a_fixed_warm_up_lasts_as_long_as_the_scale_says(tmp_path: Path) -> None:
    told: list[float] = []
    warming, start_s = heard([100.0] * 5, tmp_path, a_workload(), told.append)
    phases = warming.phases()
    assert phases is not None
    assert [(p.start_s - start_s, p.end_s - start_s) for p in phases] == [
        (0, 1),
        (1, 5),
    ]
    assert not steady_facts(tmp_path) and not told


@pytest.mark.parametrize(("began_s", "earlier_s"), [(-0.5, 0.5), (0.25, 0.0)])
def test_a_fixed_warm_up_counts_from_when_the_threads_began(
    began_s: float, earlier_s: float, tmp_path: Path
) -> None:
    """They note it themselves: a busy computer hears of it late, and never too early."""
    warming, start_s = heard([100.0] * 5, tmp_path, a_workload())
    phases = warming.phases(start_s + began_s)
    assert phases is not None
    assert [phase.start_s - start_s for phase in phases] == [-earlier_s, 1 - earlier_s]
    assert [phase.duration_s for phase in phases] == [1, 4]


def test_a_warm_up_until_steady_ends_when_that_was_seen(tmp_path: Path) -> None:
    warming, start_s = heard([1000.0] * 40, tmp_path)
    assert warming.phases(start_s - 0.5) == warming.phases()


def test_what_is_steady_from_the_begin_warms_up_no_longer_than_it_takes_to_judge(
    tmp_path: Path,
) -> None:
    told: list[float] = []
    warming, start_s = heard([1000.0] * 40, tmp_path, end_at=told.append)
    phases = warming.phases()
    assert phases is not None and phases[0].duration_s == SHORTEST_S + IN_A_ROW - 1
    assert phases[1].duration_s == STEADY.measure_s
    assert steady_facts(tmp_path)["steady"] is True
    assert told == [phases[1].end_s]
    assert phases[0].start_s == start_s


def test_a_slow_rise_is_waited_for(tmp_path: Path) -> None:
    rates = rising(200, 60.0)
    phases = heard(rates, tmp_path)[0].phases()
    assert phases is not None
    warmup_s = int(phases[0].duration_s)
    assert 45 < warmup_s < 90
    after = rates[warmup_s : warmup_s + 60]
    drift = steadiness.steadiness(range(60), after.tolist())
    assert drift is not None and drift.steady  # by the doubt's own rule


@pytest.mark.parametrize(
    ("elapsed_s", "step"),
    [(10.0, "warm-up 10/10 s: 5"), (11.0, "measuring 1/60 s: 5")],
)
def test_the_last_second_of_a_warm_up_is_of_the_warm_up(
    elapsed_s: float, step: str
) -> None:
    shown = program_output.progress(elapsed_s, warmup_s=10.0, measure_s=60.0, per_s=5.0)
    assert shown == f"{step} transactions/s"


def test_how_high_throughput_is_does_not_decide(tmp_path: Path) -> None:
    lengths = set()
    for number, factor in enumerate((0.01, 1.0, 50.0)):
        out = tmp_path / str(number)
        out.mkdir()
        phases = heard(rising(200, 60.0) * factor, out)[0].phases()
        assert phases is not None
        lengths.add(phases[0].duration_s)
    assert len(lengths) == 1


def test_what_never_becomes_steady_is_measured_after_the_longest_warm_up(
    tmp_path: Path,
) -> None:
    forever = 100 * 1.01 ** np.arange(300)
    phases = heard(forever, tmp_path)[0].phases()
    assert phases is not None and phases[0].duration_s == STEADY.warmup_most_s == 120
    assert steady_facts(tmp_path)["steady"] is False


def test_the_warm_up_is_never_shorter_than_the_scale_says(tmp_path: Path) -> None:
    workload = replace(STEADY, warmup_s=50.0)
    phases = heard(rising(90, 0.1), tmp_path, workload)[0].phases()
    assert phases is not None and phases[0].duration_s == 50


def test_the_program_may_run_until_the_window_after_the_longest_warm_up_ends() -> None:
    cluster = Cluster(
        "postgresql", "17", (), (Endpoint("h", 5432, 1, "u", "p", "d"),), "net"
    )
    command = command_lines.run_command(STEADY, cluster)
    assert "--time=129" in command and "--ends-file=/out/window-ends" in command
    assert not any(
        "ends" in part for part in command_lines.run_command(a_workload(), cluster)
    )


def test_a_run_that_ends_before_its_window_has_none(tmp_path: Path) -> None:
    assert heard([100.0] * 10, tmp_path)[0].phases() is None


def test_what_was_found_is_a_fact_and_cuts_the_warm_up(tmp_path: Path) -> None:
    facts = {"warmup_s": 34.0, "steady": False, "drift_pct": 12.0}
    (tmp_path / "warm-up.json").write_text(json.dumps(facts))
    (tmp_path / "sysbench.out").write_text("")
    (tmp_path / "recorder.json").write_text('{"types": ["insert"]}')
    (tmp_path / "latency-0.bin").write_bytes(b"")
    result = sysbench.Sysbench().read(STEADY, tmp_path, 1034.0, 1038.0)
    recorded = result.facts.recorded()
    assert (recorded["warmup_s"], recorded["warmup_steady"]) == (34.0, False)
    assert recorded["warmup_drift"] == {"drift_pct": 12.0}
    warm_up = result.intervals[result.intervals["phase"] == "warm-up"]
    assert (warm_up["time_s"].min(), len(warm_up)) == (1000.0, 34)


def test_generators_with_a_fixed_warm_up_refuse() -> None:
    for generator, script in (("benchbase", "tpcc/tpcc.lua"), ("sysbench", "mine.lua")):
        workload = replace(a_workload(), generator=generator, script=script)
        with pytest.raises(UsageError, match="fixed time"):
            binding.warmed(workload, "steady")
        assert binding.warmed(workload, "fixed") is workload
