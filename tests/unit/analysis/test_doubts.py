"""Each kind of doubt about a campaign and its pace: raised by its cause, and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.doubts.kinds import find
from orchestrator.metrics import measured
from orchestrator.model import Doubt, Note, Record
from orchestrator.tier import LatencyModel, Price, VmCap
from tests.campaigns import build_campaign, build_gate, with_tier
from tests.doubted import Change, facts, figures, kinds, small, the
from tests.tiers import changed


def test_a_sound_campaign_raises_none() -> None:
    assert find(small()) == ()


# ------------------------------------------------------------------ about the campaign


def test_one_repetition_of_everything() -> None:
    found = the("one repetition", small(repetitions=1))
    assert "every cell was measured once" in found.text
    assert found.advice == "repeat with `--repeats 5`"
    assert found.run is None


def test_one_repetition_left_of_several() -> None:
    found = the("one repetition", small(repetitions=3, failed=[1, 3]))
    assert "only one repetition finished of premium × point-select" in found.text


def test_a_missing_cell() -> None:
    found = the("missing cell", small(failed=[1, 2]))
    assert "premium × point-select has no finished run" in found.text


@pytest.mark.parametrize("enforcement", ["emulated", "none"])
def test_disks_that_are_not_the_provider_s(enforcement: Any) -> None:
    campaign = with_tier(small(repetitions=2), enforcement=enforcement)
    assert kinds(campaign) == {f"{enforcement} tier"}


def test_whether_emulated_latencies_have_a_tail_is_said() -> None:
    plain = with_tier(small(profiles=["premium", "ultra"]), enforcement="emulated")
    constant = the("emulated tier", plain).text
    assert constant.endswith(
        "; latency of premium, ultra: constant (p99 is not comparable)"
    )
    table = ((0.0, 0.001), (1.0, 0.002))
    model = LatencyModel(table, table, "a P15", "2026-01-01")
    modelled = the("emulated tier", with_tier(plain, "ultra", latency_model=model)).text
    assert "; latency of premium: constant" in modelled
    assert modelled.endswith(
        "; latency of ultra: modelled from a P15, as of 2026-01-01"
    )


def test_disks_held_to_their_limits_in_different_ways() -> None:
    campaign = build_campaign(workloads=["insert"], nodes=1, frames=False)
    first = campaign.plan.profiles[0].name
    campaign = with_tier(campaign, first, enforcement="mounted")
    assert {"unlike disks", "emulated tier"} <= kinds(campaign)
    every = [profile.name for profile in campaign.plan.profiles]
    for name in every:
        campaign = with_tier(campaign, name, enforcement="none")
    assert "unlike disks" not in kinds(campaign)
    campaign = with_tier(campaign, first, enforcement="mounted", path="/mnt/p15")
    assert f"the disks of {first} are real" in the("unlike disks", campaign).text


def test_a_vm_below_its_disk() -> None:
    cap = "IOPS: the VM lets through 12,800 of the 20,000 that the disks could give"
    campaign = with_tier(small(), vm_caps=(VmCap("IOPS", cap),))
    assert str(the("VM caps the disk", campaign)) == f"premium: {cap}"
    assert "a larger VM" in the("VM caps the disk", campaign).advice


def test_fewer_nodes_than_declared() -> None:
    text = "1 database node instead of the profile's 3 (this machine has 2 cores)"
    note = Note("fewer nodes", text, "premium")
    assert str(the("fewer nodes", small(notes=(note,)))) == f"premium: {text}"
    assert "set --nodes" in the("fewer nodes", small(notes=(note,))).advice
    asked = replace(note, kind="nodes as asked")
    assert "leave --nodes out" in the("fewer nodes", small(notes=(asked,))).advice
    assert "fewer nodes" not in kinds(small(notes=(replace(note, kind="other"),)))


def test_unlike_runs() -> None:
    def other_version(record: Record) -> Record:
        return facts(version="16.4")(record) if record.run.number == 2 else record

    found = the(
        "unlike runs", small(profiles=["premium", "ultra"], change=other_version)
    )
    assert "running database's version 17.2 against 16.4" in found.text


def test_doubts_that_runs_recorded_are_kept_and_failed_runs_are_not_examined() -> None:
    own = Doubt("telemetry gaps", "lost a second", "none", 1)
    campaign = small(
        failed=[1],
        measure_s=20.0,
        change=lambda r: replace(r, doubts=(own,)),
        repetitions=3,
    )
    found = find(campaign)
    assert own in found
    assert {d.run for d in found if d.kind == "short window"} == {2, 3}


def test_without_tables_nothing_breaks() -> None:
    assert kinds(small(frames=False)) == {"telemetry gaps"}


# ------------------------------------------------------------------ a pace that was not kept


def paced(options: Mapping[str, Any], **generator: Any) -> Change:
    def change(record: Record) -> Record:
        load = replace(record.workload, options=dict(options))
        facts = {
            **record.facts,
            "generator": {**record.facts["generator"], **generator},
        }
        return replace(record, workload=load, facts=facts)

    return change


@pytest.mark.parametrize(
    ("unstarted", "doubted"),
    [
        (0, False),
        (100, False),
        (700, True),
    ],  # of 70,000: within a moment's queue, and beyond it
)
def test_an_open_loop_that_the_database_did_not_keep_up_with(
    unstarted: int, doubted: bool
) -> None:
    change = paced(
        {"arrival_rate": 1000},
        unstarted=unstarted,
        recorded_transactions=70_000 - unstarted,
    )
    campaign = small(change=change)
    assert ("overload" in kinds(campaign)) is doubted
    if doubted:
        found = the("overload", campaign)
        assert (
            "700 of 70,000 transactions that were due" in found.text
            and "1.0 %" in found.text
        )
        assert "slow disk" not in found.text
        assert "arrival_rate" in found.advice


def test_terminals_that_waited_for_a_connection_are_overload_too() -> None:
    change = paced({"think": "spec"}, unstarted=5_000, recorded_transactions=20_000)
    found = the("overload", small("tpcc", change))
    assert "20.0 %" in found.text and "5,000 of 25,000" in found.text
    assert "more threads" in found.advice and "arrival_rate" not in found.advice


@pytest.mark.parametrize(
    ("wait_s", "doubted"), [(0.0, False), (0.00099, False), (0.001, True)]
)
def test_a_wait_for_a_connection_that_latency_does_not_show(
    wait_s: float, doubted: bool
) -> None:
    def change(record: Record) -> Record:
        waited = figures(
            measured("latency_avg_s", 0.02), measured("connection_wait_avg_s", wait_s)
        )
        return waited(paced({"think": "spec"}, unstarted=0)(record))

    campaign = small("tpcc", change)
    assert ("overload" in kinds(campaign)) is doubted
    if doubted:
        found = the("overload", campaign)
        assert (
            "waited 1 ms for a connection" in found.text
            and "more threads" in found.advice
        )


def test_a_few_transactions_not_begun_at_the_end_are_no_overload() -> None:
    """60 threads may each be in the middle of one when the run ends."""
    change = paced({"arrival_rate": 10}, unstarted=100, recorded_transactions=700)
    assert "overload" not in kinds(small(change=change))


@pytest.mark.parametrize(
    ("served", "rate", "doubted"),
    [
        (0.8, 1000.0, True),
        (0.985, 1000.0, True),
        (0.995, 1000.0, False),
        (0.97, 10.0, False),  # 600 arrivals: chance alone makes as much
        (1.02, 1000.0, False),
    ],
)
def test_a_rate_that_benchbase_did_not_serve(
    served: float, rate: float, doubted: bool
) -> None:
    change = paced(
        {"arrival_rate": rate},
        generator="benchbase",
        arrival_rate_per_s=rate,
        served_of_asked=served,
        queueing_in_latency=False,
    )
    campaign = small("tpcc", change)
    assert ("overload" in kinds(campaign)) is doubted
    if served == 0.8:
        found = the("overload", campaign)
        assert (
            "800 of the 1,000 transactions/s asked for" in found.text
            and "80.0 %" in found.text
        )
        assert "Latency leaves out transactions that waited" in found.text
        assert "arrival_rate" in found.advice


def test_a_closed_loop_is_never_overloaded() -> None:
    assert "overload" not in kinds(
        small(change=paced({}, unstarted=0, served_of_asked=None))
    )


# ------------------------------------------------------------------ advice that works


def test_on_a_cluster_that_others_run_calibrate_is_not_advised() -> None:
    """There it measures nothing: the disks are behind machines that we only look at."""

    def change(record: Record) -> Record:
        tier = changed(record.profile.tier, enforcement="existing")
        gate = replace(build_gate(tier), checks=())
        return replace(record, profile=replace(record.profile, tier=tier), gate=gate)

    found = the("no truth gate", small(change=change))
    assert "calibrate" not in found.advice
    assert "fio" in found.advice
    mounted = the(
        "no truth gate", small(change=lambda record: replace(record, gate=None))
    )
    assert mounted.advice == "run `tierbench calibrate --profile premium`"


def test_conditions_that_could_not_be_evaluated_are_a_doubt_and_the_run_stays() -> None:
    held = {"name": "c01", "holds": "W_YTD", "violations": 0}
    unknown = {"name": "c06", "holds": "O_OL_CNT", "problem": "Snapshot too old"}

    def checked(*conditions: Mapping[str, Any]) -> Change:
        return lambda record: replace(
            record, facts={**record.facts, "checked": {"consistency": list(conditions)}}
        )

    assert "consistency not checked" not in kinds(small(change=checked(held)))
    campaign = small(change=checked(held, unknown))
    assert all(run.record.outcome == "done" for run in campaign.runs)
    doubt = the("consistency not checked", campaign)
    assert (
        "c06" in doubt.text
        and "Snapshot too old" in doubt.text
        and "c01" not in doubt.text
    )


@pytest.mark.parametrize(
    ("as_of", "doubted"),
    [
        ("2025-06-14", False),
        ("2024-07", False),
        ("2024-06-15", False),
        ("2024-06-14", True),
        ("2024", True),  # may be of its first day
        ("2025", False),
        ("undated", True),
    ],
)
def test_a_price_older_than_a_year(as_of: str, doubted: bool) -> None:
    """The campaign is of 15 June 2025."""
    campaign = small()
    (profile,) = campaign.plan.profiles
    assert profile.tier.price
    tier = replace(profile.tier, price=replace(profile.tier.price, as_of=as_of))
    plan = replace(campaign.plan, profiles=(replace(profile, tier=tier),))
    assert ("old price" in kinds(replace(campaign, plan=plan))) is doubted


def test_the_price_of_a_machine_is_old_only_where_it_counts() -> None:
    campaign = small(profiles=["premium", "ultra"])
    first, second = campaign.plan.profiles
    old = Price(280.0, "USD", "westus2", "2023-01", "a list")
    on_d8 = replace(first.cluster, vm="azure/D8", vm_price=old)
    new = replace(old, as_of="2025-06")

    def doubts(vm: str, price: Price) -> list[str]:
        other = replace(second, cluster=replace(second.cluster, vm=vm, vm_price=price))
        plan = replace(campaign.plan, profiles=(replace(first, cluster=on_d8), other))
        found = find(replace(campaign, plan=plan))
        return [doubt.text for doubt in found if doubt.kind == "old price"]

    assert doubts("azure/D8", old) == []
    (text,) = doubts("azure/D16", new)
    assert text.startswith("the price of premium's machines is as of 2023-01")


def test_a_price_read_in_a_copy_is_not_verified_and_the_command_is_named() -> None:
    campaign = small()
    (profile,) = campaign.plan.profiles
    assert profile.tier.price and "price not verified" not in kinds(campaign)
    copied = replace(profile.tier.price, verified=False)
    doubtful = with_tier(campaign, price=copied)
    found = the("price not verified", doubtful)
    assert found.text.startswith(f"the price of {profile.name} was read in somebody's")
    assert "tierbench prices update" in found.advice


def test_without_a_price_none_is_old() -> None:
    campaign = with_tier(small(), price=None)
    assert "old price" not in kinds(campaign)
