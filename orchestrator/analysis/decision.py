"""Which tier to buy for each workload: the cheapest within the margin of the best. Pure.

Tiers are held against each other in throughput and in average and p99 latency. A tier counts as
within the margin only where intervals prove it in each of these against every other tier, and a
cheaper one is passed over only where one of them is proven to be outside. Anything else is no
decision: `tier` None, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis import comparability, resources, results, stats
from orchestrator.analysis.bottlenecks import CPU_BOUND, HARNESS_LIMITS, LOAD_BOUND
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
    contest,
    others,
    standing,
)
from orchestrator.analysis.results import Results
from orchestrator.model import Bottleneck, Decision, Record
from orchestrator.units import format_quantity

_NOT_THE_DISK = frozenset({CPU_BOUND, LOAD_BOUND})


def decisions(campaign: Results, limits: Sequence[Bottleneck]) -> tuple[Decision, ...]:
    """One per workload of the plan."""
    limit_of = {(one.profile, one.workload): one.verdict for one in limits}
    contests = [_of_workload(campaign, w.name, limit_of) for w in campaign.plan.workloads]
    # One family of comparisons, because they are read together.
    chance = stats.highest_significant([p for one in contests for p in chances(one)])
    return tuple(decide(replace(one, chance=chance)) for one in contests)


def _of_workload(
    campaign: Results, workload: str, limit_of: Mapping[tuple[str, str], str]
) -> Contest:
    profiles = campaign.plan.profiles
    runs = {p.name: results.finished(campaign, p.name, workload) for p in profiles}
    every = [run for found in runs.values() for run in found]
    counted = any(results.value_of(run.record, "nopm") for run in every)
    throughput, latencies = (NOPM, NEW_ORDER) if counted else (THROUGHPUT, LATENCIES)
    aspects = (throughput, *latencies)
    candidates = []
    for profile in profiles:
        records = [run.record for run in runs[profile.name]]
        figures = {one: found for one in aspects if (found := _values(records, one))}
        if throughput in figures:
            limit = limit_of.get((profile.name, workload), "")
            candidates.append(Candidate(profile, figures, limit))
    return replace(
        contest(workload, candidates, tuple(runs), campaign.plan.margin_pct, aspects),
        paced=any(resources.paced(run.record) for run in every),
        obstacle=comparability.obstacle(every),
    )


def _values(records: Sequence[Record], aspect: Aspect) -> tuple[float, ...]:
    """Empty where any run lacks the figure or has none above zero."""
    key = (aspect.metric, aspect.scope)
    figures = [results.sound(record.measurements) for record in records]
    values = tuple(one[key].value for one in figures if key in one and one[key].value > 0)
    return values if len(values) == len(records) else ()


# ------------------------------------------------------------------ the rule


def decide(field: Contest) -> Decision:
    """The first candidate proven within the margin, if all before it are proven outside."""
    if reason := _no_contest(field):
        return Decision(field.workload, None, reason, None, None)
    for candidate in field.candidates:
        found = standing(candidate, field)
        if found == "within":
            return _taken(candidate, field, _why(candidate, field))
        if found == "open" and _explained(candidate, field):
            return _taken(candidate, field, _disk_is_not_the_limit(candidate, field))
        if found == "open":
            return Decision(field.workload, None, _open(candidate, field), None, None)
    return Decision(field.workload, None, _each_worse(field), None, None)


def _no_disk(field: Contest) -> bool:
    return all(one.limit in _NOT_THE_DISK for one in field.candidates)


def _explained(candidate: Candidate, field: Contest) -> bool:
    """Whether all that is open is known not to come from the disk.

    A CPU or think time at its limit says so of throughput. Of average latency it does only where
    threads never pause, since that is then threads ÷ throughput. Of the slowest it never does.
    """
    limited = {THROUGHPUT.metric, NOPM.metric}
    if not field.paced and all(one.limit == CPU_BOUND for one in field.candidates):
        limited.add("latency_avg_s")
    is_open = [one for one in comparisons(candidate, field) if one.standing == "open"]
    return _no_disk(field) and all(one.aspect.metric in limited for one in is_open)


def _no_contest(field: Contest) -> str:
    """Why nothing can be decided, before any figure is looked at; or an empty text."""
    if field.obstacle:
        return field.obstacle
    names = [one.name for one in field.candidates]
    if len(names) < 2:
        return f"only {names[0]} has figures" if names else "no tier has figures"
    single = [one.name for one in field.candidates if len(one.figures[field.aspects[0]]) < 2]
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
    remarks = "".join(f". {remark}" for remark in _remarks(candidate, field))
    if field.no_prices or candidate.price is None:
        return Decision(field.workload, candidate.name, reason + remarks, None, None)
    cost, currency = candidate.monthly_cost, candidate.price.currency
    return Decision(field.workload, candidate.name, reason + remarks, cost, currency)


def _why(candidate: Candidate, field: Contest) -> str:
    best = _best(field, field.aspects)
    passed_over = field.candidates[: field.candidates.index(candidate)]
    worse = "; ".join(str(_proof(one, candidate, field)) for one in passed_over)
    if not field.no_prices:
        text = f"{candidate.name} is the cheapest tier {best}"
        return f"{text}: {worse}" if worse else text
    alike = [one.name for one in others(candidate, field) if standing(one, field) == "within"]
    text = f"{candidate.name} is {best}"
    if alike:
        text += f", as is {_listed(alike)}, and declares the lowest limits of them"
    return f"{text}: {worse}" if worse else text


def _best(field: Contest, aspects: Sequence[Aspect]) -> str:
    margin = format_quantity(field.margin_pct, "%")
    return f"within {margin} of the best {_listed([aspect.title for aspect in aspects])}"


def _proof(one: Candidate, taken: Candidate | None, field: Contest) -> Comparison:
    """What shows best that a tier is outside the margin: against the one taken, where it is."""
    found = [each for each in comparisons(one, field) if each.standing == "outside"]
    return next((each for each in found if each.other is taken), found[0])


def _disk_is_not_the_limit(candidate: Candidate, field: Contest) -> str:
    which = "tier with the lowest declared limits" if field.no_prices else "cheapest tier"
    return f"{candidate.name} is the {which} that is not proven slower than another"


def _remarks(candidate: Candidate, field: Contest) -> list[str]:
    found = []
    if _no_disk(field):
        found += _no_disk_remark(field)
    if candidate.limit in HARNESS_LIMITS:
        found.append(
            f"With {candidate.name} this machine was the limit: on a larger one dearer tiers may "
            "do more"
        )
    if field.no_prices:
        found.append(f"{field.no_prices}, so this is by performance alone")
    if field.left_out:
        titles = _listed([aspect.title for aspect in field.left_out])
        found.append(f"Not compared, as not every run has it: {titles}")
    if field.absent:
        found.append(f"Not considered, having no figures: {_listed(field.absent)}")
    return found


def _no_disk_remark(field: Contest) -> list[str]:
    """Where CPU or think time was the limit on every tier: as much as the comparisons allow."""
    worse = [
        each.aspect
        for one in field.candidates
        for each in comparisons(one, field)
        if each.standing == "outside"
    ]
    if not all(aspect.is_latency for aspect in worse):
        return []
    if worse:
        return ["On no tier does the disk limit throughput, but latency depends on it"]
    if field.left_out:
        return ["On no tier does the disk limit throughput"]
    return ["The disk is not the limit on any tier"]


def _open(candidate: Candidate, field: Contest) -> str:
    """What is proven of the candidate, what is not, and by how much it misses."""
    found = comparisons(candidate, field)
    unproven = [
        a for a in field.aspects if any(o.aspect is a for o in found if o.standing == "open")
    ]
    proven = [aspect for aspect in field.aspects if aspect not in unproven]
    aspect = unproven[0]
    rivals = [one for one in found if one.aspect is aspect and one.standing == "open"]
    sign = 1 if aspect.is_latency else -1
    worst = max(rivals, key=lambda one: sign * one.ratio.change_pct)
    if proven:
        titles = _listed([one.title for one in unproven])
        text = f"{candidate.name} is {_best(field, proven)}; whether also of the best {titles}"
    else:
        text = f"whether {candidate.name} is {_best(field, unproven)}"
    return f"{text} is not proven: {worst}; more repetitions are needed"


def _each_worse(field: Contest) -> str:
    proofs = "; ".join(str(_proof(one, None, field)) for one in field.candidates)
    return f"no tier is {_best(field, field.aspects)}, each being worse than another: {proofs}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
