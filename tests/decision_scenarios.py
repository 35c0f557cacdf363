"""Campaigns in which a decision is easily wrong or needlessly silent, and what it must answer.

The table test asserts the answers; `make bench NAME=decisions SCENARIOS=1` prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.design import slo
from orchestrator.metrics import measured
from orchestrator.model import Record
from orchestrator.report.report_index import ReportIndex
from tests.campaigns import SHAPES, build_campaign, with_tail

Change = Callable[[Record], Record]

TIERS = ("premium", "premium-v2", "ultra")  # from cheap to dear
RATES = (600.0, 603.0, 597.0, 601.0, 599.0)  # noise of 0.4 %
ALIKE = {(tier, "insert"): RATES for tier in TIERS}


def on(tiers: str, change: Change) -> Change:
    """The change, for the runs of some tiers alone."""
    return lambda record: (
        change(record) if record.run.profile in tiers.split() else record
    )


def failing(share_pct: float) -> Change:
    """With so many of those tried failed; what is done stays as it is."""

    def change(record: Record) -> Record:
        done = next(m.value for m in record.measurements if m.metric == "transactions")
        failed = measured("failures", done * share_pct / (100 - share_pct))
        kept = (m for m in record.measurements if m.metric != "failures")
        return replace(record, measurements=(*kept, failed))

    return change


def without_p99(record: Record) -> Record:
    kept = tuple(m for m in record.measurements if m.metric != "latency_p99_s")
    return replace(record, measurements=kept)


def with_p99(latencies_s: Mapping[str, Sequence[float]]) -> Change:
    """With these p99 latencies, one for each repetition of a tier."""

    def change(record: Record) -> Record:
        p99_s = latencies_s[record.run.profile][record.run.repetition - 1]
        kept = without_p99(record).measurements
        return replace(record, measurements=(*kept, measured("latency_p99_s", p99_s)))

    return change


def campaign_of(**shape: Any) -> Results:
    usual = {
        "workloads": ["insert"],
        "repetitions": 5,
        "values": ALIKE,
        "frames": False,
    }
    return build_campaign(**{**usual, **shape})


def asked_for(campaign: Results, clause: str) -> Results:
    """With that SLO for all its workloads."""
    workloads = slo.applied(campaign.plan.workloads, clause, "--slo")
    return replace(campaign, plan=replace(campaign.plan, workloads=workloads))


def _priced(campaign: Results, monthly: Mapping[str, float | None]) -> Results:
    """At these prices of a disk a month."""
    profiles = []
    for profile in campaign.plan.profiles:
        price, cost = profile.tier.price, monthly[profile.name]
        assert price is not None
        price = None if cost is None else replace(price, monthly=cost)
        profiles.append(replace(profile, tier=replace(profile.tier, price=price)))
    return replace(campaign, plan=replace(campaign.plan, profiles=tuple(profiles)))


def _client_at_its_limit() -> Results:
    """On the two dearer tiers; what these could do was not measured."""
    busy = {
        (tier, "insert"): replace(SHAPES[tier, "insert"], client_cpu_pct=90.0)
        for tier in TIERS[1:]
    }
    return campaign_of(shapes=busy, frames=True)


def _half_as_fast(lost: int) -> Results:
    """The cheapest is half as fast, and the first of its runs failed."""
    slow = {("premium", "insert"): [rate / 2 for rate in RATES]}
    return campaign_of(values={**ALIKE, **slow}, failed=[1, 4, 7, 10, 13][:lost])


def _two_repetitions() -> Results:
    pairs = {("premium", "insert"): (300.0, 303.0), ("ultra", "insert"): (603.0, 600.0)}
    return campaign_of(profiles=("premium", "ultra"), repetitions=2, values=pairs)


def _slow_tail() -> Results:
    """p99 latency 20 times as long on the cheaper of two, with noise of 35 % on both."""
    p99_s = {"premium": (1.44, 2.78, 2.0), "ultra": (0.1, 0.139, 0.072)}
    return with_tail(
        campaign_of(profiles=tuple(p99_s), repetitions=3, change=with_p99(p99_s))
    )


def _p99_met_on_average() -> Results:
    """On the cheapest one run of five is above the limit of 120 ms, their mean far below."""
    premium, others = (
        (0.07, 0.08, 0.09, 0.075, 0.125),
        (0.05, 0.052, 0.051, 0.049, 0.05),
    )
    p99_s = {"premium": premium, "premium-v2": others, "ultra": others}
    return asked_for(with_tail(campaign_of(change=with_p99(p99_s))), "p99 < 120 ms")


@dataclass(frozen=True)
class Scenario:
    """`tier`: what must be named, or None. `says`, `never_says`: of its reason. `status`: of the
    report, where it matters. `standings`: of all tiers, from cheap to dear."""

    build: Callable[[], Results]
    tier: str | None
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()
    status: str = ""
    standings: tuple[str, ...] = ()


SCENARIOS: Mapping[str, Scenario] = {
    "20 % of the transactions fail on the cheapest": Scenario(
        lambda: campaign_of(change=on("premium", failing(20))),
        "premium-v2",
        ("premium misses failures < 1 %: 20 %",),
    ),
    "20 % of the transactions fail on the cheapest, with an SLO": Scenario(
        lambda: asked_for(
            campaign_of(change=on("premium", failing(20))), "throughput > 100"
        ),
        "premium-v2",
        ("premium misses failures < 1 %: 20 %",),
    ),
    "the client is the limit on the dearer tiers": Scenario(
        _client_at_its_limit,
        None,
        ("premium-v2 (client bound)", "ultra (client bound)", "was not the tier"),
        status="not conclusive",
    ),
    "the cheapest alone has no p99 latency": Scenario(
        lambda: with_tail(campaign_of(change=on("premium", without_p99))),
        None,
        ("not every run of premium has a p99 latency",),
    ),
    "no tier has a p99 latency": Scenario(
        lambda: with_tail(campaign_of(change=without_p99)),
        "premium",
        ("Not compared", "p99 latency"),
    ),
    "no run of the slow tier failed": Scenario(lambda: _half_as_fast(0), "premium-v2"),
    "three of five runs of the slow tier failed": Scenario(
        lambda: _half_as_fast(3),
        "premium-v2",
        standings=("not enough", "enough", "enough"),
    ),
    "four of five runs of the slow tier failed": Scenario(
        lambda: _half_as_fast(4), None, ("one repetition of premium",)
    ),
    "all runs of the slow tier failed": Scenario(
        lambda: _half_as_fast(5),
        "premium-v2",
        ("Left out, having no figures of every run: premium",),
        status="partly conclusive",
    ),
    "equal figures at equal prices": Scenario(
        lambda: _priced(campaign_of(), dict.fromkeys(TIERS, 85.0)),
        "ultra",
        ("at the same price",),
        ("cheap", "dearer"),
    ),
    "equal prices, and the least disk is 7 % slower": Scenario(
        lambda: _priced(
            campaign_of(
                values={**ALIKE, ("premium", "insert"): [0.93 * rate for rate in RATES]}
            ),
            dict.fromkeys(TIERS, 85.0),
        ),
        "ultra",
        ("at the same price",),
        ("cheap", "dearer"),
    ),
    "equal figures, and one price is not known": Scenario(
        lambda: _priced(
            campaign_of(), {"premium": None, "premium-v2": 85.0, "ultra": 260.0}
        ),
        "premium",
        ("no price is known for premium", "declares the lowest limits"),
        ("cheap",),
    ),
    "50 % apart, two repetitions": Scenario(
        _two_repetitions, "ultra", standings=("not enough", "enough")
    ),
    "p99 latency 20 times as long, three repetitions": Scenario(
        _slow_tail, "ultra", standings=("not enough", "enough")
    ),
    "an SLO on p99 latency that single runs break": Scenario(
        _p99_met_on_average, "premium"
    ),
}


def answer(scenario: Scenario) -> tuple[Verdict, str]:
    """What the program says, and the report's status."""
    campaign = scenario.build()
    verdict = judge(campaign)
    return verdict, status(campaign, verdict)


def status(campaign: Results, verdict: Verdict) -> str:
    """What a page has as its status, without a page."""
    return ReportIndex(campaign, verdict).answer.sureness.word
