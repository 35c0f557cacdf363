"""Factors: their values, what each changes of workload and profile, and the order of their runs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from orchestrator.design import factors, varied_profiles, varied_workloads
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import UsageError
from orchestrator.facts import Varied
from orchestrator.planning.plan import grown
from orchestrator.planning.planned_loads import loads
from orchestrator.tier import Latencies, Limits, NodeDisks, RealDisks, Tier, as_written
from tests.plans import a_plan, a_profile, a_workload, changed_plan, planned


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nodes=9,3,6", ["3 nodes", "6 nodes", "9 nodes"]),
        ("nodes=1,3", ["1 node", "3 nodes"]),
        ("replication-factor=1,3", ["replication factor 1", "replication factor 3"]),
        ("data=30,20 tables", ["20 tables", "30 tables"]),
        ("data=100GiB, 10GiB", ["10GiB of data", "100GiB of data"]),
        ("data=2x,0.5x", ["0.5x of data", "2x of data"]),
        ("cache=warm,cold", ["warm cache", "cold cache"]),
        ("count=1,4", ["1 striped disk", "4 striped disks"]),
        ("rate=100,50", ["50/s", "100/s"]),
        ("batch=10,1", ["batch 1", "batch 10"]),
        ("isolation=read committed,serializable", ["isolation read committed",
                                                   "isolation serializable"]),
    ],
)  # fmt: skip
def test_values_are_in_rising_order_unless_they_are_words(
    text: str, words: list[str]
) -> None:
    assert [factors.in_words(value) for value in factors.parse(text)] == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nodes=1,3", "from 1 to 3 nodes"),
        ("replication-factor=1,3", "from replication factor 1 to replication factor 3"),
        ("data=100GiB, 10GiB", "from 10GiB to 100GiB of data"),
        ("rate=50,1200", "from 50/s to 1,200/s"),
    ],
)
def test_a_noun_behind_two_values_stands_once(text: str, words: str) -> None:
    assert factors.span_in_words(*factors.parse(text)) == words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes", "must name a factor with two or more values"),
        ("=1,2", "must name a factor with two or more values"),
        ("nodes=3", "must name a factor with two or more values"),
        ("nodes=3,3", "must name a factor with two or more values"),
        ("nodes=3,,6", "must name a factor with two or more values"),
        ("nodes=0,3", "not a whole number from 1 to"),
        ("without=nothing", "must name a factor with two or more values"),
        ("without=disk,disk", "must name a factor with two or more values"),
        ("without=cpu", "a stage is nothing or disk"),
        ("nodes=three,6", "three is not a whole number"),
        ("memory=2,4", "with its unit"),
        ("memory=0B,4GiB", "a node has more memory than 0B"),
        ("data=20,30", "with its unit"),
        ("network=0Mbit,1Mbit", "a network lets through more than 0Mbit"),
        ("data=0GiB,30GiB", "a data set is larger than 0GiB"),
        ("data=0x,1x", "a data set is larger than 0x"),
        ("data=-1GiB,30GiB", "expected"),
        ("cache=hot,cold", "cold or warm"),
        ("host_cache=none,read-only", "host cache"),
    ],
)
def test_what_is_no_factor_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        factors.parse(text)
    assert refused.value.advice


def test_each_value_is_a_workload_by_a_name_of_its_own() -> None:
    made = [
        varied_workloads.at(a_workload(), value)
        for value in factors.parse("data=2,4 tables")
    ]
    assert [one.name for one in made] == [
        "point-select-at-2-tables",
        "point-select-at-4-tables",
    ]
    assert made[0].varied == Varied("point-select", "tables", "2", 2.0)


def test_cold_caches_are_met_by_the_window() -> None:
    cold, warm = (
        varied_workloads.at(a_workload(), value)
        for value in factors.parse("cache=cold,warm")
    )
    assert not cold.warm and cold.warmup_s == 0.0
    assert warm.warm and warm.warmup_s == a_workload().warmup_s


def test_a_value_changes_one_key_of_the_cluster_alone() -> None:
    profile = replace(a_profile(nodes=9), cluster=replace(a_profile(nodes=9).cluster))
    values = {
        "client": ("beside,outside", "beside"),
        "network": ("1Mbit,2Mbit", 125_000),
    }
    values["without"] = ("commit", "nothing")
    for name, of_cluster in factors.OF_CLUSTER.items():
        text, value = values.get(name, ("2,3", 2))
        used = as_used(
            profile,
            varied_workloads.at(a_workload(), factors.parse(f"{name}={text}")[0]),
        )
        changed = replace(profile.cluster, **{of_cluster.field: value})  # type: ignore[arg-type]
        assert used == replace(profile, cluster=changed)


def test_memory_is_that_of_each_node_alone() -> None:
    profile = a_profile(nodes=3)
    used = []
    for value in factors.parse("memory=4GiB,2GiB"):
        used.append(as_used(profile, varied_workloads.at(a_workload(), value)))
    assert [one.cluster.size.memory_bytes for one in used] == [2 * 2**30, 4 * 2**30]
    node = replace(profile.cluster.size, memory_bytes=2 * 2**30)
    cluster = replace(profile.cluster, node=node)
    assert used[0] == replace(profile, cluster=cluster)
    theirs = replace(profile, cluster=replace(profile.cluster, database="existing"))
    why = varied_profiles.misfit(
        theirs, factors.parse("memory=2GiB,4GiB"), is_one_engine=True
    )
    assert "others run" in why


def test_fewer_nodes_have_the_first_disks() -> None:
    places = {f"node-{n}": NodeDisks(f"/mnt/{n}") for n in (1, 2, 3)}
    profile = a_profile(nodes=3)
    profile = replace(profile, tier=replace(profile.tier, disk=RealDisks(disks=places)))
    load = varied_workloads.at(a_workload(), factors.parse("nodes=2,3")[0])
    assert list(as_used(profile, load).tier.disk.of_nodes) == ["node-1", "node-2"]


def test_tiers_and_values_are_balanced_over_the_rounds() -> None:
    values = factors.parse("data=2,4 tables")
    made = planned(
        [a_profile("premium"), a_profile("ultra")],
        [varied_workloads.at(a_workload(), value) for value in values],
        repetitions=4,
        seed=3,
    )
    first = {run.repetition: run for run in reversed(made.runs)}.values()
    assert Counter(run.workload for run in first) == dict.fromkeys(
        ("point-select-at-2-tables", "point-select-at-4-tables"), 2
    )
    for load in made.workloads:
        own = [run for run in made.runs if run.workload == load.name]
        begins = [run.profile for run in own[::2]]
        assert Counter(begins) == {"premium": 2, "ultra": 2}
    later = grown(
        changed_plan(made, runs=made.runs[:12], repetitions=3),
        [w.name for w in made.workloads],
    )
    assert later.runs == made.runs


def test_without_a_factor_the_order_is_that_of_workloads() -> None:
    names = [
        run.workload for run in a_plan(workloads=("insert", "tpcc"), repetitions=2).runs
    ]
    assert names == ["insert", "tpcc"] * 2


def test_data_are_loaded_for_each_value_that_needs_others() -> None:
    def loaded(text: str) -> int:
        every = [
            varied_workloads.at(a_workload(), value) for value in factors.parse(text)
        ]
        profiles = [a_profile("premium", 3), a_profile("ultra", 3)]
        plan = planned(profiles, every, repetitions=2)
        return sum(load.most_times for load in loads(plan))

    assert (loaded("nodes=1,2,3"), loaded("replication_factor=1,3")) == (3, 2)
    assert (loaded("cache=cold,warm"), loaded("threads=1,2")) == (1, 1)


def test_what_cannot_be_varied_says_what_to_do() -> None:
    profile = a_profile(nodes=1)
    assert "say --nodes 3" in varied_profiles.misfit(
        profile, factors.parse("replication_factor=1,3"), is_one_engine=True
    )
    assert (
        varied_profiles.misfit(
            a_profile(nodes=3),
            factors.parse("replication_factor=1,3"),
            is_one_engine=True,
        )
        == ""
    )
    real = replace(profile, tier=replace(profile.tier, disk=RealDisks(path="/mnt/a")))
    assert "compare a profile" in varied_profiles.misfit(
        real, factors.parse("count=1,2"), is_one_engine=True
    )
    theirs = replace(profile, cluster=replace(profile.cluster, database="existing"))
    assert "others run" in varied_profiles.misfit(
        theirs, factors.parse("nodes=1,2"), is_one_engine=True
    )


def test_nodes_differ_alone_so_all_have_the_copies_that_the_fewest_can_hold() -> None:
    profile, text = varied_profiles.with_common_copies(
        a_profile(nodes=9), factors.parse("nodes=3,9")
    )
    assert profile.cluster.replication_factor == 3 and text.startswith(
        "replication factor 3 at"
    )
    same, text = varied_profiles.with_common_copies(profile, factors.parse("nodes=3,9"))
    assert (same, text) == (profile, "")


# ------------------------------------------------------------------ a stage taken away


def test_each_stage_is_taken_away_beside_the_full_run() -> None:
    values = factors.parse("without=network,disk")
    assert [factors.in_words(value) for value in values] == [
        "all stages",
        "without network",
        "without disk",
    ]
    loads = [varied_workloads.at(a_workload(), value) for value in values]
    assert [load.name for load in loads] == [
        "point-select-at-all-stages",
        "point-select-at-without-network",
        "point-select-at-without-disk",
    ]
    assert [varied_workloads.stage_left_out(load) for load in loads] == [
        "",
        "network",
        "disk",
    ]
    assert (
        varied_workloads.stage_left_out(a_workload())
        == ""
        == varied_workloads.stage_left_out(replace(loads[0], varied=None))
    )


def test_what_is_taken_away_is_gone_and_the_rest_stays() -> None:
    cluster = replace(a_profile(nodes=3).cluster, network_bytes_per_s=125_000)
    profile = replace(a_profile(nodes=3), cluster=cluster)
    full, disk, network, commit = (
        as_used(profile, varied_workloads.at(a_workload(), value))
        for value in factors.parse("without=disk,network,commit")
    )
    assert full == profile
    assert disk.tier.disk.in_memory and disk.tier.limits == Limits()
    assert disk.tier.latency == Latencies() and disk.tier.name != profile.tier.name
    assert disk.cluster == replace(cluster, without="disk")
    changed = replace(
        cluster, without="network", client="beside", network_bytes_per_s=None
    )
    assert network == replace(profile, cluster=changed)
    assert commit == replace(profile, cluster=replace(cluster, without="commit"))


def test_the_full_run_and_that_without_a_stage_have_the_same_data() -> None:
    every = [
        varied_workloads.at(a_workload(), value)
        for value in factors.parse("without=disk,commit")
    ]
    plan = planned([a_profile()], every, repetitions=2)
    assert [load.most_times for load in loads(plan)] == [1]


@pytest.mark.parametrize(
    ("stage", "changes", "is_one_engine", "said"),
    [
        ("disk", {}, False, "only one Docker engine can keep"),
        ("network", {}, False, "on one Docker engine alone"),
        ("commit", {}, False, ""),
        ("network", {"client": "beside"}, True, "network already"),
        ("commit", {"client": "beside"}, True, ""),
        ("network", {"client": "beside", "network_bytes_per_s": 125_000}, True, ""),
        ("commit", {"database": "existing"}, True, "others run this cluster"),
    ],
)
def test_a_stage_that_stays_says_why(
    stage: str, changes: dict[str, Any], is_one_engine: bool, said: str
) -> None:
    profile = a_profile()
    profile = replace(profile, cluster=replace(profile.cluster, **changes))
    why = varied_profiles.misfit(
        profile, factors.parse(f"without={stage}"), is_one_engine
    )
    assert said in why and bool(why) == bool(said)


def test_what_only_reads_has_no_commit_to_be_taken_away() -> None:
    _, load = (
        varied_workloads.at(a_workload(), value)
        for value in factors.parse("without=commit")
    )
    assert "only reads" in varied_profiles.misfit_of(replace(load, writes=False))
    assert varied_profiles.misfit_of(replace(load, writes=True)) == ""


def test_a_disk_in_memory_is_read_as_it_was_written() -> None:
    (_, value), adapter = factors.parse("without=disk"), TypeAdapter(Tier)
    in_memory = as_used(a_profile(), varied_workloads.at(a_workload(), value)).tier
    shared = replace(a_profile().tier, shared=Limits(600))
    for tier in (a_profile().tier, in_memory, shared):
        written = json.loads(json.dumps(as_written(tier)))
        assert ("in_memory" in written) == tier.disk.in_memory
        assert adapter.validate_python(written) == tier
