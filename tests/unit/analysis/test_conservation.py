"""Whether the counts of a run add up: against records whose every count is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator import counter_sources
from orchestrator.analysis import verdicts
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.doubts.machine_checks import no_telemetry
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.use import conservation
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.cli.measure import concluding
from orchestrator.metrics import SAMPLE_COLUMNS, measured
from orchestrator.model import Node, Phase, Record
from tests.campaign_tables import empty_samples, held
from tests.campaigns import START_S, build_campaign
from tests.doubted import figures

WINDOW_S, DEBT_S, RATE = 60.0, 20.0, 10e6  # bytes of rows a second
NODES = ("node-1", "node-2", "node-3")
MIDDLE_S = START_S + 10.0
END_S = MIDDLE_S + WINDOW_S


def table(
    rates: dict[tuple[str, str], float], to_s: float, **settling: float
) -> pd.DataFrame:
    """Samples once a second, 0.3 s beside the edges of all phases; `settling`: of a node's disk."""
    rows = []
    for (node, metric), per_s in rates.items():
        value = 0.0
        for second in range(int(to_s - START_S) + 2):
            time_s = START_S - 0.7 + second
            phase = "measure" if MIDDLE_S <= time_s < END_S else "settle"
            rows.append(
                (
                    time_s,
                    node,
                    metric,
                    "",
                    value,
                    "warm-up" if time_s < MIDDLE_S else phase,
                )
            )
            # Of a second that the window ends in, 0.3 are before it.
            after = min(1.0, max(0.0, time_s + 1.0 - END_S))
            later = (
                settling.get(node.replace("-", "_"), per_s)
                if "written" in metric
                else per_s
            )
            value += per_s * (1 - after) + later * after
    return pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))


def load(
    written: tuple[float, ...],
    settling: float | None = None,
    change: Callable[[Record], Record] = lambda record: record,
    **more: float,
) -> Results:
    """A bulk load on three nodes, whose disks write so much a second, and `settling` afterwards."""

    def of_load(record: Record) -> Record:
        phases = record.phases
        if settling is not None:
            phases = (*phases, Phase("settle", END_S, END_S + DEBT_S))
        wal = {"since_reset": {"wal_bytes": more.get("log", 0.0) * (WINDOW_S + 10.0)}}
        facts = {**record.facts, "generator": {"payload": "written"}}
        facts["database"] = {**record.facts["database"], **wal}
        rates = measured("payload_bytes_per_s", RATE)
        return change(figures(rates)(replace(record, phases=phases, facts=facts)))

    campaign = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, change=of_load
    )
    rates = {
        (f"node-{n}", counter_names.WRITTEN_BYTES): of
        for n, of in enumerate(written, start=1)
    }
    rates |= {(node, counter_names.READ_BYTES): 1.0 for node in NODES}
    rates |= {(node, counter_names.CPU_SECONDS): 0.5 for node in NODES}
    rates |= {("client", "network_sent_bytes_total"): RATE}
    rates |= {
        (node, "network_received_bytes_total"): more.get("received", 0.0)
        for node in NODES
    }
    end_s = END_S + (DEBT_S if settling is not None else 0.0)
    later = (
        {}
        if settling is None
        else dict.fromkeys(("node_1", "node_2", "node_3"), settling)
    )
    samples = held(table(rates, end_s, **later))
    return replace(
        campaign, runs=tuple(replace(run, sampled=samples) for run in campaign.runs)
    )


def counted(campaign: Results) -> dict[str, float]:
    (run,) = campaign.runs
    return {m.metric: m.value for m in conservation.figures(run)}


def doubts(campaign: Results, kind: str) -> list[str]:
    return [doubt.text for doubt in kinds.find(campaign) if doubt.kind == kind]


def test_bytes_at_the_disks_are_held_against_those_of_the_rows() -> None:
    """Three copies, 2.2 times: within 2 %, wherever samples lie beside the edges."""
    values = counted(load((2.2 * RATE,) * 3))
    assert values["written_per_payload"] == pytest.approx(6.6, rel=0.001)
    assert values["node_payload_bytes_per_s"] == pytest.approx(RATE / 3)
    assert values["cpu_s_per_gb"] == pytest.approx(1.5 / (RATE / 1e9), rel=0.001)
    assert "read_per_payload" not in values and "debt_s" not in values


def test_what_is_owed_when_the_window_ends_is_counted_with_what_was_written() -> None:
    campaign = load((RATE,) * 3, settling=RATE / 2)
    values = counted(campaign)
    assert values["debt_s"] == pytest.approx(DEBT_S)
    # Of the second in which the window ended, each has its share of time; nothing is lost.
    assert values["debt_bytes"] == pytest.approx(3 * RATE / 2 * DEBT_S, rel=0.02)
    both = 3 * RATE * (WINDOW_S + DEBT_S / 2)
    assert values["written_per_payload"] == pytest.approx(
        both / (RATE * WINDOW_S), rel=0.001
    )
    in_verdict = {
        c.metric: c.mean for c in verdicts.cells(campaign) if c.scope == "all"
    }
    assert in_verdict["debt_s"] == pytest.approx(DEBT_S)


@pytest.mark.parametrize(("log_per_s", "count"), [(6.1e6, 1), (5.9e6, 0)])
def test_a_log_that_grows_twice_as_fast_as_its_disks_are_written_is_elsewhere(
    log_per_s: float, count: int
) -> None:
    """Three disks are written 1 MB/s each; the device of a fourth is not known."""

    def with_devices(record: Record) -> Record:
        nodes = []
        for node in record.nodes:
            if node.name in NODES:
                node = replace(node, sources={counter_sources.DISK_DEVICE: "sdb"})
            nodes.append(node)
        return replace(record, nodes=(*nodes, Node("node-4", "database")))

    campaign = load((1e6,) * 3, log=log_per_s, change=with_devices)
    texts = doubts(campaign, "disks not counted")
    assert len(texts) == count
    assert all(text.startswith("node-1, node-2 and node-3: ") for text in texts)


def test_what_nodes_send_each_other_is_held_against_the_log() -> None:
    """The log of 4 MB/s goes to two standbys; the rows come from the client."""
    received = (RATE + 2 * 4e6 * 1.01) / 3
    values = counted(load((RATE,) * 3, log=4e6, received=received))
    assert values["log_sent_pct"] == pytest.approx(101.0, rel=0.001)
    assert "log_sent_pct" not in counted(load((RATE,) * 3, received=received))


def test_what_fio_counts_in_its_windows_is_held_against_the_disk_in_the_same_times() -> (
    None
):
    """Of two windows that begin within seconds; between them the disk writes as well."""
    lengths_s = {MIDDLE_S + 1.4: 20.5, MIDDLE_S + 25.9: 30.2}
    windows = [
        {
            "start_s": start_s,
            "end_s": start_s + length_s,
            "read_bytes": 0.0,
            "written_bytes": RATE * length_s,
        }
        for start_s, length_s in lengths_s.items()
    ]

    def of_fio(record: Record) -> Record:
        return replace(
            record, facts={**record.facts, "generator": {"windows": windows}}
        )

    values = counted(load((0.5 * RATE, 0.3 * RATE, 0.25 * RATE), change=of_fio))
    assert values["written_per_payload"] == pytest.approx(1.05, rel=0.001)
    assert "read_per_payload" not in values


@pytest.mark.parametrize(
    ("third", "raised"), [(2e6, True), (5.9e6, True), (6.1e6, False)]
)
def test_a_node_that_wrote_far_less_than_the_others_lacks_a_copy(
    third: float, raised: bool
) -> None:
    texts = doubts(load((1e7, 1e7, third)), "replica missing")
    assert bool(texts) is raised
    assert all(text.startswith("node-3 wrote") and "572 MiB" in text for text in texts)


def test_nodes_that_need_not_have_a_copy_each_are_not_compared() -> None:
    def two_copies(record: Record) -> Record:
        profile = record.profile
        cluster = replace(profile.cluster, replication_factor=2)
        return replace(record, profile=replace(profile, cluster=cluster))

    assert not doubts(load((1e7, 1e7, 2e6), change=two_copies), "replica missing")


@pytest.mark.parametrize(("of_payload", "raised"), [(0.97, True), (0.99, False)])
def test_less_on_the_disks_than_was_loaded_is_still_in_memory(
    of_payload: float, raised: bool
) -> None:
    texts = doubts(load((of_payload * RATE,) * 3), "data in memory")
    assert bool(texts) is raised
    assert all("less than 3 × the 572 MiB" in text for text in texts)


def test_where_no_disk_was_sampled_nothing_is_held_against_the_payload() -> None:
    campaign = load((RATE,) * 3)
    (run,) = campaign.runs
    bare = replace(campaign, runs=(replace(run, sampled=held(empty_samples())),))
    assert not doubts(bare, "data in memory")


def test_what_is_written_behind_the_window_is_not_in_memory() -> None:
    assert not doubts(load((0.8 * RATE,) * 3, settling=RATE), "data in memory")


@pytest.mark.parametrize(("lost", "raised"), [(1, False), (2, True)])
def test_seconds_that_were_not_sampled_are_said(lost: int, raised: bool) -> None:
    """One lost sample leaves a step of two seconds, which a busy machine may have any time."""
    campaign = load((RATE,) * 3)
    (run,) = campaign.runs
    every = pd.concat(list(run.sampled.parts()))
    seconds = sorted(every["time_s"].unique())[30 : 30 + lost]
    thinned = every[~((every["node"] == "node-2") & every["time_s"].isin(seconds))]
    cut = replace(campaign, runs=(replace(run, sampled=held(thinned)),))
    texts = [
        text
        for text in doubts(cut, "telemetry gaps")
        if "Only their sum is known" in text
    ]
    assert bool(texts) is raised
    assert all("3 s of node-2" in text for text in texts)
    assert counted(cut)["written_per_payload"] == pytest.approx(3.0, rel=0.001)


SAMPLED = Totals(cpu_pct=1.0, disk_iops=1.0, host_cpu_pct=1.0)


@pytest.mark.parametrize(
    ("node", "lost_after_s", "raised"),
    [("node-3", None, True), ("node-3", 10.0, False), ("node-2", 10.0, True)],
)
def test_a_node_that_is_lost_on_purpose_leaves_no_gap(
    node: str, lost_after_s: float | None, raised: bool
) -> None:
    """The last one is; what lacks of another is a gap all the same."""
    campaign = load((RATE,) * 3)
    (run,) = campaign.runs
    every = pd.concat(list(run.sampled.parts()))
    seconds = sorted(every["time_s"].unique())[30:40]
    thinned = every[~((every["node"] == node) & every["time_s"].isin(seconds))]
    workload = replace(run.record.workload, lost_after_s=lost_after_s)
    record = replace(run.record, workload=workload)
    cut = replace(run, record=record, sampled=held(thinned))
    texts = [doubt.text for doubt in no_telemetry(cut, SAMPLED)]
    assert bool(texts) is raised, texts


def test_littles_law_is_a_figure_of_every_closed_loop() -> None:
    campaign = build_campaign(profiles=["premium"], workloads=["insert"], repetitions=1)
    assert counted(campaign)["in_flight_pct"] == pytest.approx(100.0, rel=0.01)


def test_what_was_not_sampled_has_no_figure() -> None:
    campaign = load((RATE,) * 3)
    (run,) = campaign.runs
    every = pd.concat(list(run.sampled.parts()))
    without: RunData = replace(run, sampled=held(every[every["node"] != "node-3"]))
    values: dict[str, Any] = counted(replace(campaign, runs=(without,)))
    assert "written_per_payload" not in values and "cpu_s_per_gb" not in values


def test_the_report_has_a_table_of_it_and_rates_in_bytes(tmp_path: Path) -> None:
    campaign = load((RATE,) * 3, settling=RATE / 2)
    paths = concluding.write_report(campaign, verdicts.judge(campaign), tmp_path)
    text = paths.markdown.read_text().replace("\u00a0", " ")
    assert "insert**: premium did 10 MB/s; latency" in text
    section = text.split("## Cross-checks of counts")[1].split("\n## ")[0]
    heads, row = (
        line
        for line in section.splitlines()
        if line.startswith(("| Tier", "| premium"))
    )
    titles, values = (
        [word.strip() for word in line.split("|")[2:-1]] for line in (heads, row)
    )
    shown = dict(zip(titles, values, strict=True))
    assert shown["Written ÷ payload"] == "3.50" and shown["Quiet after"] == "20 s"
    assert "Payload of a node" in text and "Read ÷ payload" not in titles


def of_blocks(
    given: tuple[float, ...], before: float = 5e6
) -> Callable[[Record], Record]:
    """Copies are nothing but blocks and their checksums; nodes say what they were given."""

    def change(record: Record) -> Record:
        facts = {"bytes_of_copy": 1.0078125}
        now = {f"node-{n}": before + of for n, of in enumerate(given, start=1)}
        start = {"given_bytes": dict.fromkeys(now, before)}
        of_cluster = {**record.facts["database"], **facts, "given_bytes": now}
        kept = {"database": of_cluster, "database_before": start}
        hdfs = {"hadoop": {"distribution": "tierbench", "has_doubts": True}}
        return replace(record, facts={**record.facts, **kept, "extensions": hdfs})

    return change


def test_where_copies_are_known_to_the_byte_every_disk_is_held_against_them() -> None:
    each, whole = 1.0078125 * RATE, RATE * WINDOW_S
    exact = load((each, each, each), change=of_blocks((whole, whole, whole)))
    assert counted(exact)["written_of_copies_pct"] == pytest.approx(100, abs=0.1)
    assert doubts(exact, "copies differ") == []
    more = load((each, 1.02 * each, each), change=of_blocks((whole, whole, whole)))
    (text,) = doubts(more, "copies differ")
    assert text.startswith("node-2: ") and "+2.0 %" in text
    # Uneven, as the name node chose, and each disk as its own node says.
    uneven = load(
        (1.1 * each, 0.9 * each, each),
        change=of_blocks((1.1 * whole, 0.9 * whole, whole)),
    )
    assert doubts(uneven, "copies differ") == []
    fewer = load(
        (each, each, 0.5 * each), change=of_blocks((whole, whole, 0.5 * whole))
    )
    (text,) = doubts(fewer, "copies differ")
    assert text.startswith("all disks together: ") and "−16.7 %" in text


def test_copies_of_other_databases_are_not_known_to_the_byte() -> None:
    campaign = load((30e6, 30e6, 30e6))
    assert "written_of_copies_pct" not in counted(campaign)
    assert doubts(campaign, "copies differ") == []
