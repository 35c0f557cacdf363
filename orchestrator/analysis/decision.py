"""Which tier to buy for each workload: the cheapest within the margin of the best. Pure.

Tiers are held against each other in throughput and in average and p99 latency. A tier counts as
within the margin only if intervals prove it in each of these against every other tier, and a
cheaper one is passed over only if one of them is proven to be outside. Anything else is no
decision: `tier` None, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis import comparability, resources, results, stats
from orchestrator.analysis.bottlenecks import HARNESS_LIMITS
from orchestrator.analysis.conclusions import Bottleneck, Decision
from orchestrator.analysis.contests import (
    LATENCIES,
    NEW_ORDER,
    NOPM,
    THROUGHPUT,
    Aspect,
    Candidate,
    Comparison,
    Contest,
    chances,
    comparisons,
    make_contest,
    others,
    standing,
)
from orchestrator.analysis.results import Results
from orchestrator.model import (
    Record,
)
from orchestrator.units import format_quantity, listed

_NOT_THE_DISK = frozenset({"cpu_bound", "load_bound"})


def decisions(campaign: Results, limits: Sequence[Bottleneck]) -> tuple[Decision, ...]:
    """One per workload of the plan."""
    limit_of = {(limit.profile, limit.workload): limit.verdict for limit in limits}
    contests = [_of_workload(campaign, w.name, limit_of) for w in campaign.plan.workloads]
    # One family of comparisons, because they are read together.
    chance = stats.highest_significant([p for contest in contests for p in chances(contest)])
    return tuple(decide(replace(contest, chance=chance)) for contest in contests)


def _of_workload(
    campaign: Results, workload: str, limit_of: Mapping[tuple[str, str], str]
) -> Contest:
    profiles = campaign.plan.profiles
    runs = {p.name: results.finished(campaign, p.name, workload) for p in profiles}
    every = [run for of_profile in runs.values() for run in of_profile]
    counted = any(results.value_of(run.record, "nopm") for run in every)
    throughput, latencies = (NOPM, NEW_ORDER) if counted else (THROUGHPUT, LATENCIES)
    aspects = (throughput, *latencies)
    candidates = []
    for profile in profiles:
        records = [run.record for run in runs[profile.name]]
        values = {aspect: v for aspect in aspects if (v := _values(records, aspect))}
        if throughput in values:
            limit = limit_of.get((profile.name, workload), "")
            candidates.append(Candidate(profile, values, limit))
    return replace(
        make_contest(workload, candidates, tuple(runs), campaign.plan.margin_pct, aspects),
        paced=any(resources.paced(run.record) for run in every),
        obstacle=comparability.obstacle(every),
    )


def _values(records: Sequence[Record], aspect: Aspect) -> tuple[float, ...]:
    """Empty if any run lacks the value or has none above zero."""
    key = (aspect.metric, aspect.scope)
    measured = [results.sound(record.measurements).get(key) for record in records]
    values = tuple(m.value for m in measured if m is not None and m.value > 0)
    return values if len(values) == len(records) else ()


# ------------------------------------------------------------------ the rule


def decide(contest: Contest) -> Decision:
    """The first candidate proven within the margin, if all before it are proven outside."""
    if reason := _no_contest(contest):
        return Decision(contest.workload, None, reason, None, None)
    for candidate in contest.candidates:
        proven = standing(candidate, contest)
        if proven == "within":
            return _decided(candidate, contest, _why(candidate, contest))
        if proven == "open" and _explained(candidate, contest):
            return _decided(candidate, contest, _disk_is_not_the_limit(candidate, contest))
        if proven == "open":
            return Decision(contest.workload, None, _open(candidate, contest), None, None)
    return Decision(contest.workload, None, _each_worse(contest), None, None)


def _no_disk(contest: Contest) -> bool:
    return all(tier.limit in _NOT_THE_DISK for tier in contest.candidates)


def _explained(candidate: Candidate, contest: Contest) -> bool:
    """Whether nothing that is open can come from the disk.

    A CPU or think time at its limit proves that for throughput. For average latency it does only
    if threads never pause, since that is then threads ÷ throughput; for p99 latency it never does.
    """
    limited = {THROUGHPUT.metric, NOPM.metric}
    if not contest.paced and all(tier.limit == "cpu_bound" for tier in contest.candidates):
        limited.add("latency_avg_s")
    open_ = [c for c in comparisons(candidate, contest) if c.standing == "open"]
    return _no_disk(contest) and all(c.aspect.metric in limited for c in open_)


def _no_contest(contest: Contest) -> str:
    """Why nothing can be decided, before any figure is looked at; or an empty text."""
    if contest.obstacle:
        return contest.obstacle
    names = [candidate.name for candidate in contest.candidates]
    if len(names) < 2:
        return f"only {names[0]} has figures" if names else "no tier has figures"
    single = [c.name for c in contest.candidates if len(c.values[contest.aspects[0]]) < 2]
    if single:
        return f"one repetition of {listed(single)} gives no interval: at least 2 are needed"
    if all(tier.limit in HARNESS_LIMITS for tier in contest.candidates):
        return (
            "the machine or its load generator was the limit on every tier, so what the disks "
            "could do was not measured"
        )
    return ""


# ------------------------------------------------------------------ words


def _decided(candidate: Candidate, contest: Contest, reason: str) -> Decision:
    remarks = "".join(f". {remark}" for remark in _remarks(candidate, contest))
    cost, currency = None, None
    if candidate.price and not contest.no_prices:
        cost, currency = candidate.monthly_cost, candidate.price.currency
    return Decision(contest.workload, candidate.name, reason + remarks, cost, currency)


def _why(candidate: Candidate, contest: Contest) -> str:
    best = _best(contest, contest.aspects)
    passed_over = contest.candidates[: contest.candidates.index(candidate)]
    worse = "; ".join(str(_proof(loser, candidate, contest)) for loser in passed_over)
    if not contest.no_prices:
        text = f"{candidate.name} is the cheapest tier {best}"
        return f"{text}: {worse}" if worse else text
    alike = [c.name for c in others(candidate, contest) if standing(c, contest) == "within"]
    text = f"{candidate.name} is {best}"
    if alike:
        text += f", as is {listed(alike)}, and declares the lowest limits of them"
    return f"{text}: {worse}" if worse else text


def _best(contest: Contest, aspects: Sequence[Aspect]) -> str:
    margin = format_quantity(contest.margin_pct, "%")
    return f"within {margin} of the best {listed([aspect.title for aspect in aspects])}"


def _proof(loser: Candidate, winner: Candidate | None, contest: Contest) -> Comparison:
    """A comparison that proves a tier to be outside the margin, with the winner if there is one."""
    proofs = [proof for proof in comparisons(loser, contest) if proof.standing == "outside"]
    return next((proof for proof in proofs if proof.other is winner), proofs[0])


def _disk_is_not_the_limit(candidate: Candidate, contest: Contest) -> str:
    which = "tier with the lowest declared limits" if contest.no_prices else "cheapest tier"
    return f"{candidate.name} is the {which} that is not proven slower than another"


def _remarks(candidate: Candidate, contest: Contest) -> list[str]:
    remarks = []
    if _no_disk(contest):
        remarks += _no_disk_remark(contest)
    if candidate.limit in HARNESS_LIMITS:
        remarks.append(
            f"With {candidate.name} this machine was the limit: on a larger one dearer tiers may "
            "do more"
        )
    if contest.no_prices:
        remarks.append(f"{contest.no_prices}, so this is by performance alone")
    if contest.left_out:
        titles = listed([aspect.title for aspect in contest.left_out])
        remarks.append(f"Not compared, as not every run has it: {titles}")
    if contest.absent:
        remarks.append(f"Not considered, having no figures: {listed(contest.absent)}")
    return remarks


def _no_disk_remark(contest: Contest) -> list[str]:
    """If CPU or think time was the limit on every tier: as much as the comparisons allow."""
    every = (c for candidate in contest.candidates for c in comparisons(candidate, contest))
    worse = [comparison.aspect for comparison in every if comparison.standing == "outside"]
    if not all(aspect.is_latency for aspect in worse):
        return []
    if worse:
        return ["On no tier does the disk limit throughput, but latency depends on it"]
    if contest.left_out:
        return ["On no tier does the disk limit throughput"]
    return ["The disk is not the limit on any tier"]


def _open(candidate: Candidate, contest: Contest) -> str:
    """Says what is proven of the candidate, what is not, and by how much it misses."""
    open_ = [c for c in comparisons(candidate, contest) if c.standing == "open"]
    unproven = list(dict.fromkeys(comparison.aspect for comparison in open_))
    proven = [aspect for aspect in contest.aspects if aspect not in unproven]
    sign = 1 if unproven[0].is_latency else -1
    rivals = [comparison for comparison in open_ if comparison.aspect is unproven[0]]
    worst = max(rivals, key=lambda rival: sign * rival.ratio.change_pct)
    if proven:
        titles = listed([aspect.title for aspect in unproven])
        text = f"{candidate.name} is {_best(contest, proven)}; whether also of the best {titles}"
    else:
        text = f"whether {candidate.name} is {_best(contest, unproven)}"
    return f"{text} is not proven: {worst}; more repetitions are needed"


def _each_worse(contest: Contest) -> str:
    proofs = "; ".join(str(_proof(loser, None, contest)) for loser in contest.candidates)
    return f"no tier is {_best(contest, contest.aspects)}, each being worse than another: {proofs}"
