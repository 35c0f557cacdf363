"""Which tier to buy for each workload: the cheapest within the margin of the best. Pure.

A tier counts as within the margin only where an interval proves it against every other tier, and a
cheaper one is passed over only where an interval proves it to be outside. Anything else is no
decision: `tier` None, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator import frames, likeness, stats
from orchestrator.attribution import CPU_BOUND, HARNESS_LIMITS, LOAD_BOUND
from orchestrator.frames import Campaign
from orchestrator.model import Bottleneck, Decision, Profile, Record
from orchestrator.stats import Ratio
from orchestrator.units import format_change, format_quantity

Standing = Literal["within", "outside", "open"]

_NOT_THE_DISK = frozenset({CPU_BOUND, LOAD_BOUND})


@dataclass(frozen=True)
class Candidate:
    """A tier with its throughputs, one per finished repetition; `limit` as attributed."""

    profile: Profile
    values: tuple[float, ...]
    limit: str

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def monthly_cost(self) -> float | None:
        """Of the cluster's disks, one on each node."""
        price = self.profile.tier.price
        return price.monthly * self.profile.cluster.nodes if price else None


@dataclass(frozen=True)
class Contest:
    """All candidates of a workload, from cheap to dear; `absent` tiers left no figures.

    Without a price for each in one currency (`currency` None) the order is by declared limits.
    """

    workload: str
    candidates: tuple[Candidate, ...]
    absent: tuple[str, ...]
    margin_pct: float
    currency: str | None


def decisions(campaign: Campaign, limits: Sequence[Bottleneck]) -> tuple[Decision, ...]:
    """One per workload of the plan."""
    limit_of = {(one.profile, one.workload): one.verdict for one in limits}
    return tuple(_of_workload(campaign, w.name, limit_of) for w in campaign.plan.workloads)


def _of_workload(
    campaign: Campaign, workload: str, limit_of: Mapping[tuple[str, str], str]
) -> Decision:
    profiles = campaign.plan.profiles
    runs = {p.name: frames.finished(campaign, p.name, workload) for p in profiles}
    every = [run for found in runs.values() for run in found]
    if obstacle := likeness.obstacle(every):
        return Decision(workload, None, obstacle, None, None)
    metric = "nopm" if any(frames.value_of(r.record, "nopm") for r in every) else "throughput_per_s"
    candidates = tuple(
        Candidate(profile, values, limit_of.get((profile.name, workload), ""))
        for profile in profiles
        if (values := _values([run.record for run in runs[profile.name]], metric))
    )
    return decide(contest(workload, candidates, tuple(runs), campaign.plan.margin_pct))


def _values(records: Sequence[Record], metric: str) -> tuple[float, ...]:
    """Empty where any run lacks the figure or has none above zero."""
    found = [frames.value_of(record, metric) for record in records]
    values = tuple(value for value in found if value is not None and value > 0)
    return values if len(values) == len(found) else ()


def contest(
    workload: str, candidates: Sequence[Candidate], tiers: Sequence[str], margin_pct: float
) -> Contest:
    """Candidates in the order in which one would prefer them; `tiers`: all that were planned."""
    prices = [candidate.profile.tier.price for candidate in candidates]
    currencies = {price.currency if price else None for price in prices}
    currency = currencies.pop() if len(currencies) == 1 else None
    by_limits = sorted(candidates, key=lambda one: _limits(one.profile))
    ordered = sorted(by_limits, key=lambda one: one.monthly_cost or 0.0) if currency else by_limits
    present = {candidate.name for candidate in candidates}
    absent = tuple(name for name in tiers if name not in present)
    return Contest(workload, tuple(ordered), absent, margin_pct, currency)


def _limits(profile: Profile) -> tuple[float, float, float]:
    """Less is a lesser disk; what is not limited counts as the most."""
    tier = profile.tier
    return tier.iops or math.inf, tier.bytes_per_s or math.inf, -(tier.read_latency_s or 0.0)


# ------------------------------------------------------------------ the rule


def decide(field: Contest) -> Decision:
    """The first candidate proven within the margin, if all before it are proven outside."""
    if reason := _no_contest(field):
        return Decision(field.workload, None, reason, None, None)
    for candidate in field.candidates:
        found = standing(candidate, field)
        if found == "within":
            return _taken(candidate, field, _why(candidate, field))
        if found == "open":
            if all(one.limit in _NOT_THE_DISK for one in field.candidates):
                return _taken(candidate, field, _disk_is_not_the_limit(candidate, field))
            break
    return Decision(field.workload, None, _open(candidate, field), None, None)


def standing(candidate: Candidate, field: Contest) -> Standing:
    """Whether its throughput is proven to be within the margin of every other candidate's."""
    least = 1 - field.margin_pct / 100
    ratios = [_against(candidate, other) for other in _others(candidate, field)]
    if any(ratio.high is not None and ratio.high < least for ratio in ratios):
        return "outside"
    proven = all(ratio.low is not None and ratio.low >= least for ratio in ratios)
    return "within" if proven else "open"


def _against(candidate: Candidate, other: Candidate) -> Ratio:
    return stats.ratio_of_means(other.values, candidate.values)


def _others(candidate: Candidate, field: Contest) -> list[Candidate]:
    return [one for one in field.candidates if one is not candidate]


def _no_contest(field: Contest) -> str:
    """Why nothing can be decided, before any figure is looked at; or an empty text."""
    names = [one.name for one in field.candidates]
    if len(names) < 2:
        return f"only {names[0]} has figures" if names else "no tier has figures"
    single = [one.name for one in field.candidates if len(one.values) < 2]
    if single:
        return f"one repetition of {_listed(single)} gives no interval: at least 2 are needed"
    if all(one.limit in HARNESS_LIMITS for one in field.candidates):
        return (
            "the machine or its load generator was the limit on every tier, so what the disks "
            "could do was not measured"
        )
    return ""


# ------------------------------------------------------------------ words


def _taken(candidate: Candidate, field: Contest, reason: str) -> Decision:
    cost = candidate.monthly_cost if field.currency else None
    remarks = "".join(f". {remark}" for remark in _remarks(candidate, field))
    return Decision(field.workload, candidate.name, reason + remarks, cost, field.currency)


def _why(candidate: Candidate, field: Contest) -> str:
    margin = format_quantity(field.margin_pct, "%")
    passed_over = field.candidates[: field.candidates.index(candidate)]
    slower = _listed([_compared(one, candidate) for one in passed_over])
    if field.currency:
        text = f"{candidate.name} is the cheapest tier within {margin} of the best throughput"
        return f"{text}: {slower}" if slower else text
    alike = [one.name for one in _others(candidate, field) if standing(one, field) == "within"]
    text = f"{candidate.name} is within {margin} of the best throughput"
    if alike:
        text += f", as is {_listed(alike)}, and declares the lowest limits of them"
    return f"{text}: {slower}" if slower else text


def _compared(one: Candidate, other: Candidate) -> str:
    ratio = _against(one, other)
    low, high = ratio.interval_pct or (math.nan, math.nan)
    interval = f"{format_change(low)} to {format_change(high)}"
    return f"{one.name} against {other.name} {format_change(ratio.change_pct)} ({interval})"


def _disk_is_not_the_limit(candidate: Candidate, field: Contest) -> str:
    which = "cheapest tier" if field.currency else "tier with the lowest declared limits"
    return f"{candidate.name} is the {which} that is not proven slower than another"


def _remarks(candidate: Candidate, field: Contest) -> list[str]:
    found = []
    if all(one.limit in _NOT_THE_DISK for one in field.candidates):
        found.append("The disk is not the limit on any tier")
    if candidate.limit in HARNESS_LIMITS:
        found.append(
            f"With {candidate.name} this machine was the limit: on a larger one dearer tiers may "
            "do more"
        )
    if not field.currency:
        found.append("Prices are missing, so this is by performance alone")
    if field.absent:
        found.append(f"Not considered, having no figures: {_listed(field.absent)}")
    return found


def _open(candidate: Candidate, field: Contest) -> str:
    margin = format_quantity(field.margin_pct, "%")
    best = max(_others(candidate, field), key=lambda one: sum(one.values) / len(one.values))
    return (
        f"whether {candidate.name} is within {margin} of the best throughput is not proven: "
        f"{_compared(candidate, best)}; more repetitions are needed"
    )


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
