"""Two stored campaigns, one after the other: what is compared, what is not, and what is said.

Goal: no word where more than the time differs, and a word where only the code does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.campaigns import comparable_campaigns
from orchestrator.analysis.results import Results
from orchestrator.analysis.statistics import stats
from orchestrator.extensions.over_time import across_days, comparing, trend
from orchestrator.extensions.over_time.comparing import CampaignComparison
from orchestrator.model import Objective, Record
from orchestrator.tier import Burst, Price, VmCap
from tests.campaigns import build_campaign, later
from tests.tiers import changed

HOST = {
    "hostname": "example",
    "cpus": 32,
    "cpu_model": "a CPU",
    "memory_bytes": 64 * 2**30,
}
IDENTITY = {
    "scripts": "abc",
    "images": {"client": "1", "database": "2"},
    "file_systems": {"node-1": "xfs rw"},
}


def campaign_of_rates(
    rates: Sequence[float] = (100.0, 101.0, 99.0, 100.5, 99.5), **facts: Any
) -> Results:
    """One tier, one workload, everything recorded; `facts`: other ones in every record."""
    return build_campaign(
        profiles=["ultra"],
        workloads=["point-select"],
        repetitions=len(rates),
        values={("ultra", "point-select"): rates},
        frames=False,
        change=lambda record: with_facts(record, {"identity": IDENTITY, **facts}),
    )


def with_facts(record: Record, facts: dict[str, Any]) -> Record:
    return replace(record, facts={**record.facts, **facts})


def on(
    campaign: Results, days: float, revision: str = "a" * 40, **host: Any
) -> Results:
    others = host.pop("other_machines", [])
    machine = {**HOST, "kernel": "6.1", **host}
    facts = {"host": machine, "other_machines": others, "revision": revision}
    return later(campaign, days, **facts, revision_changed=False)


HISTORY = [
    on(campaign_of_rates(), day) for day in range(-6, -1)
]  # five days, all alike


def compared(before: Results, after: Results, **options: Any) -> CampaignComparison:
    """With as much history as words need."""
    return comparing.compare(before, after, history=HISTORY, **options)


SLOWER = campaign_of_rates([rate * 0.8 for rate in (100.0, 101.0, 99.0, 100.5, 99.5)])


def on_tier(campaign: Results, **changes: Any) -> Results:
    """The campaign on another tier of the same name, in its records too."""

    def on_other(record: Record) -> Record:
        tier = changed(record.profile.tier, **changes)
        return replace(record, profile=replace(record.profile, tier=tier))

    runs = tuple(replace(run, record=on_other(run.record)) for run in campaign.runs)
    return replace(campaign, runs=runs)


def throughput(made: CampaignComparison) -> tuple[str, str]:
    found = next(
        one.delta for one in made.deltas if one.delta.metric == "throughput_per_s"
    )
    return found.verdict, found.reason


def test_a_fall_is_worse_and_the_other_way_round_better() -> None:
    made = compared(on(campaign_of_rates(), 0), on(SLOWER, 7))
    assert (made.before, made.after) == ("day-0", "day-7")
    delta = next(
        one.delta for one in made.deltas if one.delta.metric == "throughput_per_s"
    )
    assert delta.change_pct == pytest.approx(-20)
    assert made.has("worse") and throughput(made)[0] == "worse"
    assert (
        throughput(compared(on(SLOWER, 0), on(campaign_of_rates(), 7)))[0] == "better"
    )
    assert (
        throughput(compared(on(campaign_of_rates(), 0), on(campaign_of_rates(), 7)))[0]
        == "same"
    )


def test_the_margin_is_that_of_the_later_campaign_unless_given() -> None:
    made = compared(on(campaign_of_rates(), 0), on(SLOWER, 7), margin_pct=30)
    assert (made.margin_pct, throughput(made)[0]) == (30, "same")


def test_one_repetition_is_inconclusive() -> None:
    made = compared(on(campaign_of_rates([100.0]), 0), on(campaign_of_rates([50.0]), 7))
    assert throughput(made) == (
        "inconclusive",
        "one repetition gives no interval: each side needs at least 2",
    )


def test_two_repetitions_of_one_side_prove_no_sameness() -> None:
    """However many the other side has."""
    two, five = (100.0, 100.01), (100.0, 100.01, 99.99, 100.0, 100.0)
    history = [on(campaign_of_rates(five), day) for day in range(-6, -1)]
    for before, after in ((two, five), (five, two)):
        made = comparing.compare(
            on(campaign_of_rates(before), 0),
            on(campaign_of_rates(after), 7),
            30.0,
            history=history,
        )
        word, reason = throughput(made)
        assert word == "inconclusive"
        assert reason.endswith("but fewer than 3 repetitions do not prove it")


def test_drift_between_them_is_always_a_doubt() -> None:
    made = compared(on(campaign_of_rates(), 0), on(campaign_of_rates(), 7))
    assert made.doubts == (
        "they were measured at different times (7 days apart) and not in turns: what differs "
        "between days is in every difference",
    )


@pytest.mark.parametrize(
    ("days", "words"), [(2, "(2 days apart)"), (1.5, "(36 h apart)")]
)
def test_from_two_days_on_the_time_between_is_told_in_days(
    days: float, words: str
) -> None:
    made = compared(on(campaign_of_rates(), 0), on(campaign_of_rates(), days))
    assert words in made.doubts[0]


def test_other_code_and_images_are_allowed_and_said() -> None:
    rebuilt = {**IDENTITY, "images": {"client": "9", "database": "2"}}
    made = compared(
        on(campaign_of_rates(), 0), on(campaign_of_rates(identity=rebuilt), 7, "b" * 40)
    )
    assert throughput(made)[0] == "same"
    assert made.doubts[1:] == (
        "they were measured by other code: tierbench 0.1.0 (aaaaaaaaaaaa) against 0.1.0 "
        "(bbbbbbbbbbbb)",
        "images of the client differ (1 against 9): libraries in them may too",
    )


def test_images_that_differ_are_told_in_the_order_of_their_roles() -> None:
    roles = ("client", "database", "disk", "exporter")
    doubts: list[str] = []
    campaigns: list[Results] = []
    for image in ("1", "2"):
        identity = {**IDENTITY, "images": dict.fromkeys(roles, image)}
        campaigns.append(campaign_of_rates(identity=identity))
    made = compared(on(campaigns[0], 0), on(campaigns[1], 7))
    for text in made.doubts:
        if text.startswith("images of the "):
            doubts.append(text.split()[3])
    assert doubts == list(roles)


def test_what_an_older_campaign_lacks_is_a_doubt_and_no_refusal() -> None:
    older = build_campaign(
        profiles=["ultra"],
        workloads=["point-select"],
        repetitions=5,
        values={("ultra", "point-select"): (100.0, 101.0, 99.0, 100.5, 99.5)},
        frames=False,
        change=lambda record: with_facts(record, {"generator": {"name": "sysbench"}}),
    )
    made = compared(later(older, 0), on(campaign_of_rates(), 7))
    assert throughput(made)[0] == "same"
    assert made.doubts[1:] == (
        "not recorded in day-0, and so not compared: its kernel, the code revision, the load "
        "generator's version and scripts, images and mount options",
    )


def test_what_is_not_recorded_of_a_machine_is_told_once() -> None:
    """The kernel is not missed beside a machine that is unknown."""

    def missing(**host: Any) -> str:
        made = compared(on(campaign_of_rates(), 0, **host), on(campaign_of_rates(), 7))
        (text,) = [doubt for doubt in made.doubts if doubt.startswith("not recorded")]
        return text.partition("not compared: ")[2]

    assert missing(hostname="") == "the machine"
    assert missing(hostname="", kernel="") == "the machine"
    assert missing(kernel="") == "its kernel"


def test_engines_that_differ_are_named_by_what_differs() -> None:
    first = {"version": "27.1", "live_restore": True, "storage": "overlay2"}

    def doubts(second: object) -> list[str]:
        before = later(on(campaign_of_rates(), 0), 0, engine=first)
        after = later(on(campaign_of_rates(), 7), 7, engine=second)
        made = compared(before, after)
        return [text for text in made.doubts if "container engine" in text]

    (text,) = doubts({"version": "28.0", "live_restore": True, "cgroup": "2"})
    assert text == (
        "the container engine was another, or set otherwise: version, storage and cgroup differ"
    )
    assert not doubts(first) and not doubts(None)
    # A value that reads the same is no difference.
    assert not doubts({**first, "live_restore": "True"})


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (on(campaign_of_rates(), 7, kernel="6.2"), "unlike kernel 6.1 against 6.2"),
        (on(campaign_of_rates(), 7, cpus=64), "unlike cores 32 against 64"),
        (
            on(campaign_of_rates(), 7, hostname="other"),
            "unlike machine example against other",
        ),
        (
            on(campaign_of_rates(), 7, memory_bytes=32 * 2**30),
            "unlike memory of the machine 64 GiB against 32 GiB",
        ),
        *(
            (
                on(
                    campaign_of_rates(),
                    7,
                    other_machines=[{**HOST, "kernel": "6.1", key: value}],
                ),
                reason,
            )
            for key, value, reason in (
                ("cpu_model", "another", "unlike CPU a CPU against a CPU and another"),
                ("cpus", 64, "unlike cores 32 against 32 and 64"),
                ("hostname", "b", "unlike machine example against b and example"),
                (
                    "memory_bytes",
                    2**30,
                    "unlike memory of the machine 64 GiB against 1 GiB and 64 GiB",
                ),
            )
        ),
        (
            on(on_tier(campaign_of_rates(), iops=9), 7),
            "unlike tier's iops 10000 against 9",
        ),
        (
            on(on_tier(campaign_of_rates(), burst=Burst(9, None, 1.0, 0.0)), 7),
            "unlike tier's burst",
        ),
        (
            on(campaign_of_rates(identity={**IDENTITY, "scripts": "xyz"}), 7),
            "unlike workload's scripts (hash) abc against xyz",
        ),
        (
            on(
                campaign_of_rates(
                    identity={**IDENTITY, "file_systems": {"node-1": "ext4 rw"}}
                ),
                7,
            ),
            "unlike file system xfs rw against ext4 rw",
        ),
        (
            on(campaign_of_rates(generator={"name": "sysbench", "version": "1.1"}), 7),
            "unlike load generator's version 1.0.20 against 1.1",
        ),
    ],
)
def test_unlike_campaigns_are_inconclusive(other: Results, reason: str) -> None:
    word, why = throughput(compared(on(campaign_of_rates(), 0), other))
    assert (word, why) == ("inconclusive", reason)


def test_what_changes_no_figure_is_not_unlike() -> None:
    """Another price, title or SLO."""
    price = Price(1.0, "EUR", "here", "2026-01-01", "a list")
    caps = (VmCap("IOPS", "the machine lets through less"),)
    other = on_tier(
        campaign_of_rates(), price=price, title="another title", notes="n", vm_caps=caps
    )
    slo = (Objective("throughput_per_s", "all", 5.0),)
    runs = tuple(
        replace(
            run,
            record=replace(run.record, workload=replace(run.record.workload, slo=slo)),
        )
        for run in other.runs
    )
    made = compared(on(campaign_of_rates(), 0), on(replace(other, runs=runs), 7))
    assert throughput(made)[0] == "same"


def test_machines_of_one_kind_can_be_taken_for_one() -> None:
    one, two = on(campaign_of_rates(), 0), on(SLOWER, 7, hostname="other")
    assert throughput(compared(one, two))[0] == "inconclusive"
    made = compared(one, two, across={"machines"})
    assert throughput(made)[0] == "worse"
    assert (
        "they were measured on machines of other names (example and other)"
        in made.doubts[1]
    )
    bigger = on(SLOWER, 7, hostname="other", cpus=64)
    assert throughput(compared(one, bigger, across={"machines"}))[0] == "inconclusive"


def test_only_cells_of_both_are_compared() -> None:
    two = build_campaign(
        workloads=["insert"], profiles=["ultra", "premium"], frames=False
    )
    one = build_campaign(workloads=["insert", "tpcc"], profiles=["ultra"], frames=False)
    made = compared(on(one, 0), on(two, 1))
    assert {(d.profile, d.delta.workload) for d in made.deltas} == {("ultra", "insert")}
    assert (made.only_before, made.only_after) == (
        ("ultra × tpcc",),
        ("premium × insert",),
    )


def test_a_figure_that_a_run_lacks_is_not_dropped() -> None:
    whole = campaign_of_rates()
    first = whole.runs[0]
    kept = tuple(m for m in first.record.measurements if m.metric != "latency_p99_s")
    lacking = replace(first, record=replace(first.record, measurements=kept))
    made = compared(
        on(whole, 0), on(replace(whole, runs=(lacking, *whole.runs[1:])), 7)
    )
    (p99,) = (one.delta for one in made.deltas if one.delta.metric == "latency_p99_s")
    assert (
        p99.verdict == "inconclusive"
        and p99.reason == "1 of 10 runs have no such figure"
    )


# ------------------------------------------------------------------ days


@pytest.mark.parametrize("days", [0, 1, 4])
@pytest.mark.parametrize(
    ("after", "changed"), [(SLOWER, True), (campaign_of_rates(), False)]
)
def test_without_history_nothing_is_proven(
    after: Results, changed: bool, days: int
) -> None:
    made = comparing.compare(
        on(campaign_of_rates(), 0), on(after, 7), history=HISTORY[:days]
    )
    assert {one.delta.verdict for one in made.deltas} == {"inconclusive"}
    assert {one.changed_since for one in made.deltas} == {changed}
    assert {one.history for one in made.deltas} == {days}
    stored = f"there are only {days}" if days else "there are none"
    assert throughput(made)[1] == (
        "how much days differ is not known: at least 5 other comparable campaigns from before "
        f"are needed, and {stored}"
    )


def test_days_that_differ_widen_the_interval_and_change_the_word() -> None:
    """A fall of 6 % is proven beside days that are alike, and not where days differ by 5 %."""
    fallen = on(
        campaign_of_rates([rate * 0.94 for rate in (100.0, 101.0, 99.0, 100.5, 99.5)]),
        7,
    )
    assert throughput(compared(on(campaign_of_rates(), 0), fallen))[0] == "worse"
    unlike = [
        on(
            campaign_of_rates(
                [rate * (1 + day / 100) for rate in (100.0, 101.0, 99.0, 100.5, 99.5)]
            ),
            -day,
        )
        for day in (1, -4, 6, 3, -5)
    ]
    assert throughput(
        comparing.compare(on(campaign_of_rates(), 0), fallen, history=unlike)
    ) == (
        "inconclusive",
        "the interval −21.7 % to +12.8 % includes no change and also more than ±5 %: more "
        "repetitions are needed, or days that differ less",
    )


def test_only_comparable_campaigns_from_before_count_as_history() -> None:
    """Not itself, none after the later of both, none of another kind."""
    wrong = [on(campaign_of_rates(), day, kernel="6.2") for day in range(-6, -1)]
    later_on = [on(campaign_of_rates(), day) for day in range(8, 13)]
    themselves = [on(campaign_of_rates(), 0), on(campaign_of_rates(), 7)]
    unlike = on_tier(on(campaign_of_rates(), 1), iops=9)
    made = comparing.compare(
        on(campaign_of_rates(), 0),
        on(campaign_of_rates(), 7),
        history=[*HISTORY[:4], *wrong, *later_on, *themselves, unlike],
    )
    assert {one.history for one in made.deltas} == {4}


def test_a_copy_of_a_campaign_is_no_further_day_of_history() -> None:
    copies = [replace(day, name=f"{day.name} (copy)") for day in HISTORY[:3]]
    made = comparing.compare(
        on(campaign_of_rates(), 0),
        on(campaign_of_rates(), 7),
        history=[*HISTORY[:4], *copies],
    )
    assert {one.history for one in made.deltas} == {4}


def test_a_campaign_and_its_copy_are_named_as_such() -> None:
    before = on(campaign_of_rates(), 0)
    made = comparing.compare(before, replace(before, name="copy"))
    assert any("copy is a copy of " in doubt for doubt in made.doubts)


@pytest.mark.parametrize("between_days", [0.0, 0.01, 0.02, 0.05])
@pytest.mark.parametrize(
    ("n", "days"), [(3, 5), (5, 5), (3, 8), (5, 8), (3, 20), (5, 20)]
)
def test_equal_campaigns_of_unlike_days_seldom_differ(
    n: int, days: int, between_days: float
) -> None:
    """At most 5 % of intervals exclude no change, however much days differ; 6.6 % by chance."""
    random, wrong = np.random.default_rng(1), 0
    for _ in range(1000):
        levels = random.normal(0, between_days, days + 2)
        one, two, *others = [
            np.exp(random.normal(level, 0.01, n)).tolist() for level in levels
        ]
        low, high = across_days.ratio(one, two, others).interval_pct or (0.0, 0.0)
        wrong += low > 0 or high < 0
    assert wrong <= 66


def test_a_mean_of_fewer_repetitions_is_held_against_means_of_as_few() -> None:
    """Else the history of long campaigns would seem to say that days hardly differ."""
    history = [
        (math.exp(s / 100),) * 2 + (math.exp(-s / 100),) * 2 for s in (1, -2, 3, -1, 2)
    ]
    short = across_days.ratio((1.0, 1.01), (1.0, 1.01), history)
    alike = across_days.ratio((1.0, 1.01), (1.0, 1.01), [s[:2] for s in history])
    assert short == alike


# ------------------------------------------------------------------ the interval


def test_an_interval_between_campaigns_is_the_same_from_either_side() -> None:
    one, two = (100.0, 102.0, 99.0), (110.0, 108.0, 111.0, 109.0)
    there, back = across_days.ratio(one, two), across_days.ratio(two, one)
    assert there.low and back.high and there.low == pytest.approx(1 / back.high)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.p_value == pytest.approx(back.p_value)


def test_without_a_spread_there_is_no_interval_and_without_values_no_ratio() -> None:
    assert across_days.ratio((1.0,), (2.0, 2.0)).interval_pct is None
    assert across_days.ratio((2.0, 2.0), (1.0,)).interval_pct is None
    for wrong in ((), (0.0, 1.0), (float("nan"),)):
        with pytest.raises(ValueError, match="a ratio needs"):
            across_days.ratio(wrong, (1.0, 2.0))


@pytest.mark.parametrize(
    ("n", "m", "noises"), [(3, 3, (1, 1)), (5, 5, (1, 5)), (3, 8, (5, 1))]
)
def test_equal_campaigns_seldom_differ(
    n: int, m: int, noises: tuple[float, float]
) -> None:
    """At most 5 % of intervals exclude no change, whatever counts and noises; 6.6 % by chance."""
    random, wrong = np.random.default_rng(1), 0
    for _ in range(1000):
        one = np.exp(random.normal(0, noises[0] / 100, n)).tolist()
        two = np.exp(random.normal(0, noises[1] / 100, m)).tolist()
        low, high = across_days.ratio(one, two).interval_pct or (0.0, 0.0)
        wrong += low > 0 or high < 0
    assert wrong <= 66


def test_a_revision_with_changes_is_said_even_if_both_are_of_it() -> None:
    changed = later(
        campaign_of_rates(), 0, revision="a" * 40, revision_changed=True, host=HOST
    )
    (remark, *_) = comparable_campaigns.remarks(changed, changed)
    assert remark.startswith(
        "both were measured with changes to tierbench 0.1.0 (aaaaaaaaaaaa"
    )


def test_what_both_sides_say_of_one_campaign_stands_there_once() -> None:
    made = comparing.compare(campaign_of_rates(), campaign_of_rates())
    twice = list(comparable_campaigns.remarks(campaign_of_rates(), campaign_of_rates()))
    assert len(twice) == 2 and twice[0].startswith("not recorded in")
    assert made.doubts[1:] == (twice[0],)


def test_another_disk_of_the_profile_is_compared_where_that_is_the_question() -> None:
    after = on(on_tier(SLOWER, iops=9), 7)
    made = compared(on(campaign_of_rates(), 0), after, across={"tiers"})
    assert throughput(made)[0] == "worse", (
        "days are learnt from the campaigns on the disk before"
    )
    assert "the disk of ultra: tier's iops 10000 against 9" in made.doubts


def test_the_spread_of_days_is_never_taken_from_campaigns_of_two_disks() -> None:
    both = [*HISTORY[:3], *(on(on_tier(SLOWER, iops=9), day) for day in (3, 4, 5))]
    after = on(on_tier(SLOWER, iops=9), 7)
    made = comparing.compare(
        on(campaign_of_rates(), 0), after, history=both, across={"tiers"}
    )
    assert {delta.history for delta in made.deltas} == {3}


@pytest.mark.parametrize(
    ("change_pct", "word"),
    [(5.0, "same"), (-5.0, "same"), (5.01, "better"), (-5.01, "worse")],
)
def test_a_change_of_the_margin_is_none(change_pct: float, word: str) -> None:
    assert trend._word(change_pct, margin_pct=5.0) == word


@pytest.mark.parametrize(("others", "is_asked"), [(5, True), (4, False)])
def test_five_campaigns_of_a_level_let_expect_the_next(
    others: int, is_asked: bool
) -> None:
    """The newest is at twice the level."""
    level = [0.01 * (-1) ** number for number in range(others)]
    assert bool(trend.open_question([*level, math.log(2)])) is is_asked


@pytest.mark.parametrize(("in_errors", "is_asked"), [(4.65, True), (4.55, False)])
def test_the_next_is_off_by_its_noise_and_by_what_the_mean_is_off(
    in_errors: float, is_asked: bool
) -> None:
    """Of five, Student's 99 % interval is 4.604 s √(1 + 1/5): 5.04 s."""
    level = [-0.01, 0.01, 0.0, -0.01, 0.01]
    spread = stats.spread_of_logs(np.asarray(level))
    newest = in_errors * spread * math.sqrt(1.2)
    assert bool(trend.open_question([*level, newest])) is is_asked
