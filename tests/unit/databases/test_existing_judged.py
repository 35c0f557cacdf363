"""What is compared, doubted and reported of clusters that others run: only what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis import results, run_values
from orchestrator.analysis.doubts.kinds import find, of_run
from orchestrator.analysis.doubts.written_checks import not_counted
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.use import all_nodes, node_use
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.counter_sources import DISK_DEVICE, NODE_EXPORTER
from orchestrator.model import Node, NodeSize, Phase, Profile, Record, Sample
from orchestrator.report.sections import caveats, existing_clusters
from orchestrator.tier import Gate
from orchestrator.tiers import tier_mechanisms
from tests.campaign_tables import empty_samples, held
from tests.campaigns import build_campaign, with_tier
from tests.doubted import phrases
from tests.judged import judged_index
from tests.tiers import a_tier, changed


def attached(profile: Profile, **cluster: Any) -> Profile:
    tier = changed(profile.tier, enforcement="existing")
    shape = replace(profile.cluster, database="existing", node=None, **cluster)
    return replace(profile, tier=tier, cluster=shape)


def theirs(**cluster: Any) -> Results:
    """A finished campaign on a cluster that others run, as the flow leaves it."""

    def change(record: Record) -> Record:
        gate = Gate("premium", 1.0, ())
        return replace(record, gate=gate, profile=attached(record.profile, **cluster))

    results = one_cell(change)
    profiles = tuple(attached(profile, **cluster) for profile in results.plan.profiles)
    return replace(results, plan=replace(results.plan, profiles=profiles))


def one_cell(change: Callable[[Record], Record] = lambda record: record) -> Results:
    return build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, change=change
    )


def test_the_report_says_what_was_only_declared(tmp_path: Path) -> None:
    finished = theirs(nodes=1, replication_factor=1)
    paths = concluding.write_report(finished, judge(finished), tmp_path)
    text = paths.markdown.read_text()
    assert "not enforced: the disk of a cluster that others run" in text
    assert "premium: not measured; its limits are only declared" in text
    assert "premium: passed" not in text
    assert "Nothing is replicated" not in text
    (row,) = [
        line for line in text.splitlines() if line.startswith("| premium | existing")
    ]
    assert row.count("not declared") == 3
    assert paths.html.read_text().count("not declared") >= 3


def test_nodes_of_unknown_size_are_alike_only_as_far_as_they_were_seen() -> None:
    def record(cpus: float | None, size: NodeSize | None = None) -> Record:
        node = Node("node-1", "database", cpus=cpus)
        theirs_record = theirs().runs[0].record
        profile = theirs_record.profile
        profile = replace(profile, cluster=replace(profile.cluster, node=size))
        return replace(theirs_record, nodes=(node,), profile=profile)

    assert phrases(record(8.0), record(8.0)) == ()
    assert phrases(record(None), record(8.0)) == ()
    assert phrases(record(8.0), record(4.0)) == (
        "CPUs of the nodes, as seen, [8.0] against [4.0]",
    )
    assert phrases(record(8.0), record(8.0, NodeSize(8.0, 1, 1))) == (
        "size of a node not declared against declared",
    )


SIZE = NodeSize(8.0, 2**35, 2**38)
GIB = 2**30


def observed(
    *nodes: tuple[float | None, int | None], role: Any = "database", **facts: Any
) -> Record:
    """A run on a cluster of declared size whose machines were seen to have these CPUs and bytes."""
    record = theirs().runs[0].record
    profile = replace(
        record.profile, cluster=replace(record.profile.cluster, node=SIZE)
    )
    seen = (
        Node(f"node-{number}", role, cpus=cpus, memory_bytes=memory)
        for number, (cpus, memory) in enumerate(nodes)
    )
    said = {"version": "17.2", "settings": {"work_mem": "4MB"}, **facts}
    return replace(record, profile=profile, nodes=tuple(seen), facts={"database": said})


@pytest.mark.parametrize(
    ("one", "two", "phrase"),
    [
        (observed((8, 32 * GIB)), observed((8, 32 * GIB - 2**20)), None),
        (observed((8, 32 * GIB)), observed((8, 128 * GIB)),
         "memory of the nodes, as seen, 32 GiB against 128 GiB"),
        (observed((4, None)), observed((16, None)), "CPUs of the nodes, as seen, [4] against [16]"),
        (observed((8, GIB), (8, GIB)), observed((8, GIB), (4, GIB)),
         "CPUs of the nodes, as seen, [8, 8] against [4, 8]"),
        (observed((8, GIB), (8, GIB)), observed((8, GIB), (8, 2 * GIB)),
         "memory of the nodes, as seen, 1 GiB, 1 GiB against 1 GiB, 2 GiB"),
        (observed((8, GIB), role="host"), observed((8, GIB), (8, GIB), role="host"), None),
        (observed((8, GIB), role="host"), observed((8, GIB), (4, GIB), role="host"),
         "CPUs of the machines, as seen, [8, 8] against [4, 8]"),
        (observed(), observed(settings={"work_mem": "64MB"}),
         "running database's settings.work_mem 4MB against 64MB"),
        (observed(), observed(settings={"work_mem": "4MB", "jit": "off"}),
         "running database's settings.jit not given against off"),
        (observed(), observed(pooler="its own process 7, the server's 9"),
         "connection pooler not seen against seen"),
        (observed(hosts=["a", "b", "c"], nodes_known=3), observed(hosts=["a"], nodes_known=3),
         "named hosts one for each node against 1 for 3 nodes"),
        (observed(hosts=["a"], nodes_known=1), observed(hosts=["b"], nodes_known=1), None),
        (observed(hosts=["a"]), observed(hosts=["a"], nodes_known=3), None),  # not known
    ],
)  # fmt: skip
def test_every_machine_and_all_settings_of_clusters_of_others_are_compared(
    one: Record, two: Record, phrase: str | None
) -> None:
    assert phrases(one, two) == (() if phrase is None else (phrase,))


def test_what_was_not_seen_of_a_cluster_is_no_difference_but_a_doubt() -> None:
    seen, blind = observed((8, GIB)), observed((None, None), settings={})
    assert phrases(seen, blind) == ()
    assert run_values.not_known((seen, seen)) == ()
    assert run_values.not_known((seen, blind)) == (
        "CPUs and memory of the nodes",
        "settings",
    )


def test_what_was_not_seen_and_what_is_in_the_way_is_doubted() -> None:
    def kinds(*facts: dict[str, Any]) -> dict[str, str]:
        campaign = theirs()
        run = campaign.runs[0]
        runs = tuple(replace(run, record=observed((8, GIB), **each)) for each in facts)
        found = find(replace(campaign, runs=runs))
        return {doubt.kind: doubt.text for doubt in found}

    new = {"not compared", "connection pooler", "disks not counted"}
    assert not new & set(kinds({}, {}))
    lost = {"node-0": "WAL at /wal is on nvme2n1"}
    found = kinds(
        {}, {"settings": {}, "pooler": "process 7, not 9", "disks_not_counted": lost}
    )
    assert new <= set(found)
    assert found["not compared"].endswith("Not known of all of them: settings")
    assert "process 7, not 9" in found["connection pooler"]
    assert found["disks not counted"].startswith(
        "node-0: WAL at /wal is on nvme2n1. The figures"
    )


def test_what_a_cluster_said_and_what_was_only_declared_stands_on_the_first_page() -> (
    None
):
    def stamps(tls: str, speed: float = 0.0, **sources: str) -> dict[str, str]:
        def change(record: Record) -> Record:
            facts = {
                "database": {"version": "17", "tls": tls, "durability": {"fsync": "on"}}
            }
            node = Node(
                "node-1", "database", sources=sources, cpus=8.0 if sources else None
            )
            nodes = (replace(node, cards={"eth0": 1.25e9, "eth1": speed}),)
            return replace(
                record, facts=facts, nodes=nodes, profile=attached(record.profile)
            )

        finished = one_cell(change)
        profiles = tuple(attached(profile) for profile in finished.plan.profiles)
        finished = replace(finished, plan=replace(finished.plan, profiles=profiles))
        index = judged_index(finished)
        return {
            stamp.label: stamp.text
            for stamp in existing_clusters.existing_clusters(index)
        }

    bare = stamps("verify-full")
    assert list(bare) == ["premium: others run it"]
    assert bare["premium: others run it"] == (
        "Read: release and settings of durability. Only declared: number of copies and limits of "
        "the disks. Not known: size of the nodes, speed of the network cards, CPU, memory and "
        "network of the nodes, load of the disks, time for which the nodes' tasks waited and "
        "counters of the storage engine."
    )
    seen = stamps(
        "off", 1.25e9, **{NODE_EXPORTER: "u", DISK_DEVICE: "sda", "yb-tserver": "u"}
    )
    assert (
        "Not known: time for which the nodes' tasks waited."
        in seen["premium: others run it"]
    )
    assert seen["premium: not verified"] == (
        "With `tls: off` nothing proves that it was this cluster which answered and passwords and "
        "data went in the clear."
    )


def test_of_a_store_nothing_is_said_to_be_read() -> None:
    campaign = theirs(existing={"url": "s3a://bucket"})
    index = judged_index(campaign)
    (stamp,) = existing_clusters.existing_clusters(index)
    assert stamp.text.startswith("Nothing was read of the store")
    assert not [
        each.label for each in caveats.stamps(index) if "database node" in each.label
    ]


def test_encrypted_sessions_are_not_compared_with_others() -> None:
    def record(tls: str) -> Record:
        found = theirs().runs[0].record
        return replace(
            found, facts={**found.facts, "database": {"version": "17", "tls": tls}}
        )

    assert phrases(record("verify-full"), record("require")) == ()
    (difference,) = phrases(record("verify-full"), record("off"))
    assert difference == "`tls` of sessions verify-full against off"


def test_what_is_doubted_advises_nothing_that_only_the_owner_can_do() -> None:
    run = theirs().runs[0]
    facts = {**run.record.facts, "database": {"durable": False}}
    run = replace(run, record=replace(run.record, facts=facts))
    busy = all_nodes.Totals(host_cpu_pct=100.0)
    found = {doubt.kind: doubt for doubt in of_run(run, busy)}
    assert found["host saturated"].text.endswith(
        "100 % busy, with the load generator on it"
    )
    assert "--nodes" not in found["host saturated"].advice
    assert "owner" in found["commits not durable"].advice


def test_processors_of_nodes_elsewhere_are_not_this_machines() -> None:
    run = theirs().runs[0]
    here = all_nodes.total(run, 8.0)
    nodes = tuple(
        replace(node, sources={NODE_EXPORTER: "http://db:9100"})
        if node.role == "database"
        else node
        for node in run.record.nodes
    )
    there = all_nodes.total(replace(run, record=replace(run.record, nodes=nodes)), 8.0)
    assert here.other_cpu_pct is not None and there.other_cpu_pct is None
    assert there.client_cpu_pct == here.client_cpu_pct


def test_every_way_to_hold_a_tier_has_words_in_the_report(tmp_path: Path) -> None:
    """Judged with telemetry, and written without: no chart depends on how a tier is held."""
    cell: dict[str, Any] = {
        "profiles": ["premium"],
        "workloads": ["insert"],
        "repetitions": 1,
    }
    sampled, bare = build_campaign(**cell), build_campaign(**cell, frames=False)
    for name in tier_mechanisms():
        verdict = judge(with_tier(sampled, enforcement=name))
        concluding.write_report(with_tier(bare, enforcement=name), verdict, tmp_path)


def with_disks(
    devices: str,
    log_bytes: float,
    wal_device: str | None = None,
    written_mib_per_s: float = 1.0,
) -> RunData:
    """A run on a PostgreSQL of others whose disks were written so much, as far as they count."""
    (run,) = theirs().runs
    facts = {**run.record.facts, "database": {
        "durable": True, "flavour": "postgresql", "since_reset": {"wal_bytes": log_bytes},
    }}  # fmt: skip
    nodes = tuple(
        replace(
            node, device=None, wal_device=wal_device, sources={DISK_DEVICE: devices}
        )
        if node.role == "database"
        else node
        for node in run.record.nodes
    )
    record = replace(run.record, facts=facts, nodes=nodes)
    begin, end = results.measured_window(record) or (0.0, 0.0)
    rows = [
        Sample(
            float(at),
            "node-1",
            f"{prefix}disk_written_bytes_total",
            "bytes",
            at * 2.0**20 * written_mib_per_s,
        )
        for at in np.linspace(begin, end, 20)
        for prefix in (("", "wal_") if wal_device else ("",))
    ]
    table = pd.DataFrame([vars(row) | {"phase": "measure"} for row in rows])
    return replace(run, record=record, sampled=held(table))


@pytest.mark.parametrize(
    ("log_mib_per_s", "wal_device", "doubted"),
    [(2, None, False), (3, None, True), (3, "b", False)],
)
def test_a_log_that_grows_faster_than_the_disks_are_written_is_elsewhere(
    log_mib_per_s: float, wal_device: str | None, doubted: bool
) -> None:
    record = theirs().runs[0].record
    begin, measure = record.phase("warm-up"), record.phase("measure")
    assert begin and measure
    log_bytes = log_mib_per_s * 2**20 * (measure.end_s - begin.start_s)
    run = with_disks("a", log_bytes, wal_device)
    found = [
        d.text for d in of_run(run, all_nodes.Totals()) if d.kind == "disks not counted"
    ]
    assert (
        [text.partition(",")[0] for text in found]
        == ["node-1: the database's log grew by 3 MiB/s"]
    ) is doubted
    assert bool(found) is doubted


def test_a_log_is_held_against_nothing_where_no_disk_was_sampled() -> None:
    run = with_disks("a", 2.0**40)
    unsampled = replace(run, sampled=held(empty_samples()))
    assert list(not_counted(unsampled, all_nodes.Totals())) == []


@pytest.mark.parametrize(
    ("log_bytes", "doubted"), [(16 * 2.0**20 - 1, False), (16 * 2.0**20, True)]
)
def test_what_is_written_besides_may_be_as_much_as_a_log_below_16_mib(
    log_bytes: float, doubted: bool
) -> None:
    run = with_disks("a", log_bytes, written_mib_per_s=0.0625)
    kinds = [doubt.kind for doubt in not_counted(run, all_nodes.Totals())]
    assert kinds == ["disks not counted"] * doubted


@pytest.mark.parametrize(
    ("durable", "measured_s", "doubted"),
    [
        (True, 59.0, True),
        (True, 60.0, True),
        # What waits for no disk is written back by the kernel, a minute later.
        (False, 59.0, False),
        (False, 60.0, True),
        (None, 59.0, False),
        (None, 60.0, True),
    ],
)
def test_a_log_that_waits_for_no_disk_may_be_written_a_minute_later(
    durable: bool | None, measured_s: float, doubted: bool
) -> None:
    run = with_disks("a", 2.0**40)
    database = {**run.record.facts["database"], "durable": durable}
    phases: list[Phase] = []
    for phase in run.record.phases:
        if phase.name == "measure":
            phases.append(replace(phase, end_s=phase.start_s + measured_s))
        else:
            phases.append(phase)
    facts = {**run.record.facts, "database": database}
    record = replace(run.record, facts=facts, phases=tuple(phases))
    doubts = not_counted(replace(run, record=record), all_nodes.Totals())
    kinds = [doubt.kind for doubt in doubts]
    assert kinds == ["disks not counted"] * doubted


def test_a_sum_of_several_disks_is_not_held_to_the_limits_of_one() -> None:
    (run,) = theirs().runs

    def shares(devices: str) -> set[str]:
        nodes = tuple(
            replace(n, sources={DISK_DEVICE: devices}) for n in run.record.nodes
        )
        again = RunData(
            replace(run.record, nodes=nodes), run.read_intervals, run.sampled
        )
        values = next(iter(node_use.gather(again, 8.0).values()))
        assert values.disk.disk_iops
        return {name for name in values.sampled() if "of_cap" in name}

    assert "iops_of_cap_pct" in shares("nvme1n1") and shares("nvme1n1 nvme2n1") == set()


NAMES = ("n1", "n2")


@pytest.mark.parametrize(
    ("is_declared", "found", "words"),
    [
        (True, ("sdb", "sdb"), []),
        (False, (None, None), []),
        (True, ("sdb", None), ["n2: no disk was found that holds only the WAL"]),
        (False, ("sdb", None), ["the profile declares no limits of n1's sdb"]),
    ],
)
def test_what_is_found_of_a_wal_s_disk_is_held_against_the_profile(
    is_declared: bool, found: tuple[str | None, ...], words: list[str]
) -> None:
    """It is told, and refuses nothing: what was found is inferred."""

    def change(record: Record) -> Record:
        nodes = []
        for name, device in zip(NAMES, found, strict=True):
            sources = {NODE_EXPORTER: "http://n"}
            nodes.append(Node(name, "database", sources=sources, wal_device=device))
        profile = attached(record.profile)
        if is_declared:
            tier = replace(profile.tier, wal=profile.tier)
            profile = replace(profile, tier=tier)
        return replace(record, profile=profile, nodes=tuple(nodes))

    (run,) = one_cell(change).runs
    texts = [doubt.text for doubt in not_counted(run, all_nodes.Totals())]
    assert len(texts) == len(words)
    for text, begin in zip(texts, words, strict=True):
        assert text.startswith(begin)


def test_the_page_shows_what_is_declared_of_a_wal_s_disk(tmp_path: Path) -> None:
    finished = theirs(nodes=1, replication_factor=1)
    log = a_tier("log", "A log", "existing", 900, 50_000_000)
    finished = with_tier(finished, wal=log)
    paths = concluding.write_report(finished, judge(finished), tmp_path)
    assert "for WAL: not enforced" in paths.markdown.read_text()
