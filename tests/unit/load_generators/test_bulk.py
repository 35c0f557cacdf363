"""The bulk workloads: what they may be given, and the figures of their records."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators import binding
from orchestrator.load_generators.sysbench import command_lines, generator as sysbench
from orchestrator.model import Cluster, Endpoint, Phase, Workload
from orchestrator.planning import data_sizes, fit_to_time, windows, workloads
from orchestrator.platforms import own_images
from orchestrator.run.clients import merged_facts
from tests import ROOT
from tests.fakes import FakePlatform, fake_world
from tests.plans import a_plan

AT = Endpoint("10.0.0.11", 5432, 1, "bench", "secret", "bench")
CLUSTER = Cluster("postgresql", "17", (), (AT,), "net")
NAMES = ("bulk-load", "bulk-index", "bulk-scan")
ENDING = ("bulk-index", "bulk-scan", "bulk-restore")


def shipped(name: str, scale: str = "smoke") -> Workload:
    text = (ROOT / "workloads" / f"{name}.yaml").read_text()
    return binding.bind(workloads.read_workload(name, text, scale), None)


def test_the_command_lines() -> None:
    command = command_lines.run_command(shipped("bulk-load"), CLUSTER)
    assert {"--tables=4", "--rows=0", "--batch=10000", "--threads=4"} <= set(command)
    loading = command_lines.load_command(shipped("bulk-scan"), CLUSTER)
    assert loading[1] == "/workloads/bulk/load.lua"
    assert {"--tables=4", "--rows=1000000", "--workers=2"} <= set(loading)
    restoring = command_lines.run_command(shipped("bulk-restore"), CLUSTER)
    assert {"--rows=0", "--table-rows=500000", "--threads=2", "--time=120"} <= set(
        restoring
    )


def test_one_data_set_for_index_and_scan_and_an_empty_one_to_load() -> None:
    empty, index, scan = map(shipped, NAMES)
    assert index.dataset == scan.dataset != empty.dataset
    assert data_sizes.data_bytes(empty) == 0
    assert (data_sizes.data_bytes(scan) or 0) >= 100 * 4 * 1_000_000
    assert [load.warm for load in (empty, index, scan)] == [True, True, False]
    assert [load.settle for load in (empty, index, scan)] == [True, True, False]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bulk-index", {"batch": 10}),
        ("bulk-scan", {"arrival_rate": 5}),
        ("bulk-load", {"batch": 0}),
        ("bulk-restore", {"batch": 10}),
        ("bulk-load", {"db_ps_mode": "disable"}),
    ],
)
def test_options_that_would_have_no_effect_are_refused(
    name: str, options: dict[str, Any]
) -> None:
    (key,) = options
    with pytest.raises(UsageError) as raised:
        binding.bind(replace(shipped(name), options=options), None)
    assert [mistake.where for mistake in raised.value.mistakes] == [
        f"workloads/{name}.yaml: options.{key}"
    ]


@pytest.mark.parametrize("name", ENDING)
def test_work_that_ends_has_no_time_for_a_steady_state_or_for_trials(name: str) -> None:
    load = shipped(name)
    with pytest.raises(UsageError) as raised:
        binding.bind(replace(load, warmup_s=1.0), None)
    assert [mistake.what for mistake in raised.value.mistakes] == [
        "is 0s: the work is done once"
    ]
    with pytest.raises(UsageError, match="fixed time"):
        binding.warmed(load, "steady")
    with pytest.raises(UsageError, match="ends when its work is done"):
        binding.confirmed(load, asked=True)


def test_windows_of_work_and_of_loads_that_settle_stay_as_they_are() -> None:
    loads = tuple(map(shipped, NAMES))
    assert windows.of_whole_intervals(loads, 300.0) == (loads, (), {})
    assert [fit_to_time._shorter(load, 0.5).measure_s for load in loads[:2]] == [
        7.0,
        60.0,
    ]


def test_a_load_has_both() -> None:
    load = shipped("bulk-load")
    assert binding.warmed(load, "steady").warmup_most_s == 120.0
    assert binding.confirmed(load, asked=True).confirm_s == 48.0


@pytest.mark.parametrize("name", ENDING)
def test_work_that_ends_is_done_by_one_client(name: str) -> None:
    spec = replace(a_plan().profiles[0].cluster, clients=2)
    world = replace(
        fake_world(platform=FakePlatform(images=[own_images.tag(ROOT, "client")])),
        root=ROOT,
    )
    with pytest.raises(UsageError, match="one client"):
        sysbench.Sysbench().check(shipped(name), spec, world)
    sysbench.Sysbench().check(shipped(name), replace(spec, clients=1), world)


def left(out: Path, **mode: Any) -> Path:
    """Two transactions, which end at 4 s and 6.5 s."""
    for thread, start_s, latency_us in ((0, 3, 1_000_000), (1, 5, 1_500_000)):
        record = struct.pack("<qIIIBBH", start_s * 10**9, latency_us, 0, 0, 0, 0, 0)
        (out / f"latency-{thread}.bin").write_bytes(record)
    (out / "sysbench.out").write_text("    transactions:      2      (1.00 per sec.)\n")
    (out / "recorder.json").write_text(json.dumps({"types": ["copy"], "mode": mode}))
    return out


def test_the_window_ends_with_the_work(tmp_path: Path) -> None:
    phases = Phase("warm-up", 2.0, 2.0), Phase("measure", 2.0, 182.0)
    assert sysbench._with_work(phases, left(tmp_path)) == phases
    out = left(tmp_path, ends_with_work=True)
    warmup, measure = sysbench._with_work(phases, out)
    assert (warmup, measure.start_s) == (phases[0], 2.0)
    assert measure.end_s == pytest.approx(6.5, abs=0.01)
    result = sysbench.Sysbench().read(
        shipped("bulk-index"), out, measure.start_s, measure.end_s
    )
    assert next(m.value for m in result.measurements if m.metric == "transactions") == 2
    assert result.facts.ends_with_work is True
    early = phases[0], Phase("measure", 2.0, 5.0)
    assert sysbench._with_work(early, out)[1].end_s == 5.0


def test_the_payload_is_that_of_what_was_committed_in_the_window(
    tmp_path: Path,
) -> None:
    out = left(tmp_path, bytes_per_transaction=1_000_000, payload="written")
    result = sysbench.Sysbench().read(shipped("bulk-load"), out, 2.0, 12.0)
    values = {m.metric: m.value for m in result.measurements}
    assert values["payload_bytes_per_s"] == pytest.approx(200_000)
    assert result.facts.payload == "written"
    plain = sysbench.Sysbench().read(shipped("bulk-load"), left(tmp_path), 2.0, 12.0)
    assert "payload_bytes_per_s" not in {m.metric for m in plain.measurements}


def test_a_transaction_of_two_clients_carries_what_it_carries_of_one() -> None:
    own = GeneratorFacts(
        bytes_per_transaction=1e6, payload="written", recorded_transactions=5.0
    )
    note = {"began_s": 1.0, "shifted_s": 0.0}
    both = merged_facts.one_of(
        {"client-1": own, "client-2": own},
        dict.fromkeys(["client-1", "client-2"], note),
        {},
    )
    assert (both.bytes_per_transaction, both.payload) == (1e6, "written")
    assert both.recorded_transactions == 10.0
