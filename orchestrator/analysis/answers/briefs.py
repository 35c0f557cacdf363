"""The answer of a campaign in four lines: what to buy, why, how sure that is, what is untested.

A reader who has thirty seconds reads these and nothing else. Each says only what the verdict
proves; what bounds it is in the reasons of the answer's parts. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator import units
from orchestrator.analysis.answers import one_profile
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.headline_figures import LATENCY_AVG, LATENCY_P99
from orchestrator.analysis.answers.phrases import (
    money,
    opening,
    price_in_words,
    sentence,
)
from orchestrator.analysis.answers.record import (
    Answer,
    Brief,
    DisksToBuy,
    MonthlyPrice,
    PartAnswer,
    ProofWord,
    UntestedKind,
)
from orchestrator.analysis.answers.sureness import MOOT
from orchestrator.analysis.answers.to_buy import stated_price
from orchestrator.analysis.conclusions import Offer
from orchestrator.analysis.statistics import stats
from orchestrator.planning import costs, factors

# Below that a tier is not called faster: it is the usual margin.
_FASTER_FROM = 1.05
_LATENCIES = {LATENCY_AVG: "average latency", LATENCY_P99: "p99 latency"}


def campaign_brief(asked: Asked, answer: Answer) -> Brief:
    """`answer`: all of it but its brief."""
    if answer.kind == "comparison":
        brief = Brief(
            _what(asked, answer), _why(asked, answer), _how_sure(asked, answer)
        )
    else:
        brief = _of_one_profile(asked, answer)
    return Brief(
        _opening(asked, brief.what).removesuffix("."),
        _opening(asked, brief.why),
        _opening(asked, brief.how_sure),
        sentence(_not_tested(asked, answer)),
        sentence(brief.price),
    )


def _opening(asked: Asked, text: str) -> str:
    """With a capital at the start, unless the name of a tier or of a workload stands there."""
    names = [profile.name for profile in asked.campaign.plan.profiles]
    return opening(text, [*names, *asked.subjects])


# ------------------------------------------------------------------ one profile


def _of_one_profile(asked: Asked, answer: Answer) -> Brief:
    """Nothing is bought: whether it meets its SLO, or what it did, and what limited it."""
    what = answer.sureness.headline or answer.sureness.text
    repetitions = asked.campaign.plan.repetitions
    how_sure = f"measured {units.counted(repetitions, 'time')}"
    if repetitions == 1:
        how_sure = "measured once; `--repeats 5` tells how much runs differ"
    if answer.sureness.word not in ("measured", "one tier"):
        how_sure = f"{answer.sureness.word}; {how_sure}"
    limits = " ".join(one_profile.limits_in_words(asked))
    price = price_in_words(_price_of_one_profile(asked))
    return Brief(what, limits, how_sure, price=price)


def _price_of_one_profile(asked: Asked) -> MonthlyPrice | None:
    """Of its disks at list price; None if that is not known."""
    profile = asked.campaign.plan.profile(asked.verdict.baseline)
    amount = costs.disks_monthly(profile)
    listed = profile.tier.price
    if amount is None or listed is None:
        return None
    return stated_price(profile, round(amount, 2), listed.currency, "disks")


# ------------------------------------------------------------------ what to buy


def _what(asked: Asked, answer: Answer) -> str:
    purchase = answer.purchase
    if purchase is not None:
        return _named(answer, purchase)
    parts = answer.parts
    if answer.together is not None:
        return (
            f"no tier to buy yet: none is proven enough for all {len(parts)} workloads"
        )
    if len(parts) == 1:
        return f"no tier to buy yet for {parts[0].subject}"
    return "; ".join(_of_workload(part) for part in parts)


def _of_workload(part: PartAnswer) -> str:
    if part.purchase is None:
        return f"no tier yet for {part.subject}"
    return f"{part.purchase.tier} for {part.subject}{_for_price(part.purchase.price)}"


def _named(answer: Answer, purchase: DisksToBuy) -> str:
    price = _for_price(purchase.price)
    untested = {untested.kind for untested in answer.untested}
    if "any measurement" in untested or "real cluster" in untested:
        return f"{purchase.tier} is named, but do not buy by it{price}"
    word = answer.sureness.word
    if word == MOOT["assumed latency"]:
        return f"not decided: {purchase.tier} is enough if the assumed latency is right{price}"
    if word in MOOT.values():
        return f"{purchase.tier} is enough {word}{price}"
    if word == "enough; price open":
        return f"{purchase.tier} is enough; whether it is the cheapest is open"
    return f"buy {purchase.tier}{price}"


def _for_price(price: MonthlyPrice | None) -> str:
    """`: 182.58 USD a month for the disks of your 3 nodes`."""
    if price is None:
        return ""
    text = f": {money(price.amount, price.currency)} a month for the {price.covers}"
    if price.nodes is not None:
        text += f" of your {units.counted(price.nodes, 'node')}"
    if price.verified is False:
        text += " (list price, not verified)"
    return text


# ------------------------------------------------------------------ why


def _why(asked: Asked, answer: Answer) -> str:
    purchase = answer.purchase
    texts: list[str] = []
    if purchase is not None:
        texts += _against_cheaper(asked, purchase.tier)
        texts += _against_dearer(asked, purchase.tier)
    if texts:
        return "; ".join(texts)
    return _reason(answer)


def _reason(answer: Answer) -> str:
    """The first sentence of the reason of the whole, or of the first part that is open."""
    part = answer.all_parts[0]
    for other in answer.all_parts:
        if other.tier is None:
            part = other
            break
    first, _, _ = part.why[0].partition(". ")
    # What stands before the colon is the first line already.
    _, colon, details = first.partition(": ")
    if colon and part.tier is None:
        return details
    return first


def _against_cheaper(asked: Asked, tier: str) -> Iterator[str]:
    """In what the next cheaper tier is proven not to be enough, where that was most."""
    offer = _neighbour(asked, tier, cheaper=True)
    if offer is None:
        return
    missed = _clause_missed(asked, offer.tier)
    if missed:
        yield f"{offer.tier} costs less and misses {missed}"
        return
    advantages: list[_Advantage] = []
    for subject in _subjects_with_standing(asked, offer.tier, "not enough"):
        advantages += _advantages(asked, tier, offer.tier, subject)
    if advantages:
        largest = max(advantages, key=_times)
        yield f"{largest.in_words()} {offer.tier}{_for_more(asked, tier, offer)}"


def _for_more(asked: Asked, tier: str, cheaper: Offer) -> str:
    """`, for 525.00 USD a month more`."""
    named = _offer(asked, tier)
    if named is None or named.monthly_cost is None or cheaper.monthly_cost is None:
        return ""
    more = named.monthly_cost - cheaper.monthly_cost
    return f", for {money(more, named.currency)} a month more"


def _against_dearer(asked: Asked, tier: str) -> Iterator[str]:
    """What the next dearer tier that is enough too brings: no more than the margin."""
    dearer = _neighbour(asked, tier, cheaper=False)
    named = _offer(asked, tier)
    if dearer is None or not dearer.monthly_cost:
        return
    if named is None or not named.monthly_cost:
        return
    times = units.format_number(dearer.monthly_cost / named.monthly_cost)
    if any(decision.slo for decision in asked.verdict.decisions):
        yield f"{dearer.tier} is not needed for {times} times the price"
        return
    plan = asked.campaign.plan
    margin = units.format_quantity(plan.margin_pct, "%")
    where = ""
    if plan.weights:
        where = " by the weighted mean"
    yield f"{dearer.tier} is at most {margin} faster{where} for {times} times the price"


def _neighbour(asked: Asked, tier: str, *, cheaper: bool) -> Offer | None:
    """The tier that is next in price, as the first decision that has both offers it."""
    for decision in asked.verdict.decisions:
        names = [offer.tier for offer in decision.offers]
        if tier not in names:
            continue
        place = names.index(tier)
        cost = decision.offers[place].monthly_cost
        others = decision.offers[place + 1 :]
        if cheaper:
            others = tuple(reversed(decision.offers[:place]))
        for other in others:
            if cost is not None and other.monthly_cost not in (None, cost):
                return other
    return None


def _offer(asked: Asked, tier: str) -> Offer | None:
    for decision in asked.verdict.decisions:
        for offer in decision.offers:
            if offer.tier == tier:
                return offer
    return None


def _clause_missed(asked: Asked, tier: str) -> str:
    """The first clause of an SLO that the tier is proven to miss; empty if there is none."""
    for decision in asked.verdict.decisions:
        for offer in decision.offers:
            if offer.tier != tier:
                continue
            for result in offer.slo:
                if result.word == "missed":
                    return result.objective
    return ""


def _subjects_with_standing(asked: Asked, tier: str, standing: str) -> Iterator[str]:
    for decision in asked.verdict.decisions:
        for offer in decision.offers:
            if offer.tier == tier and offer.standing == standing:
                yield decision.workload


@dataclass(frozen=True)
class _Advantage:
    """How many times a figure of the tier named is better, by the means over its runs."""

    subject: str
    times: float
    metric: str

    def in_words(self) -> str:
        """`in tpcc 9.7 times the throughput of`, to stand before the other tier."""
        times = units.format_number(self.times)
        if self.metric in _LATENCIES:
            share = units.format_number(100 / self.times)
            return f"in {self.subject} {share} % of the {_LATENCIES[self.metric]} of"
        return f"in {self.subject} {times} times the throughput of"


def _times(advantage: _Advantage) -> float:
    return advantage.times


def _advantages(
    asked: Asked, tier: str, other: str, subject: str
) -> Iterator[_Advantage]:
    """The first figure of the workload in which the tier is better by more than the margin."""
    for load in asked.campaign.plan.workloads:
        if factors.subject(load) != subject:
            continue
        for metric in asked.figures.compared_metrics(load.name).values():
            mean = asked.figures.cell(tier, load.name, metric)
            others_mean = asked.figures.cell(other, load.name, metric)
            if mean is None or others_mean is None:
                continue
            if mean.mean <= 0 or others_mean.mean <= 0:
                continue
            times = mean.mean / others_mean.mean
            if metric in _LATENCIES:
                times = 1 / times
            if times >= _FASTER_FROM:
                yield _Advantage(load.name, times, metric)
                break


# ------------------------------------------------------------------ how sure


_OPEN: Mapping[ProofWord, str] = {
    "open": "open",
    "not decided": "not decided",
    "not compared": "not compared",
    "not judged": "not judged",
}


def _how_sure(asked: Asked, answer: Answer) -> str:
    texts = list(_proven(asked, answer.parts))
    for proof, word in _OPEN.items():
        subjects = [part.subject for part in answer.parts if part.proof == proof]
        if not subjects:
            continue
        text = f"{units.listed(subjects)} {_is(subjects)} {word}"
        takes = _settled_by(asked, subjects[0])
        if takes and len(subjects) > 1:
            takes = f"for {subjects[0]} {takes}"
        if takes:
            text = f"{text}; {takes}"
        texts.append(text)
    cheaper = dict.fromkeys(
        tier for part in answer.all_parts for tier in part.cheaper_open
    )
    if cheaper:
        texts.append(f"whether {units.listed([*cheaper])} would do is open")
    tally = answer.sureness.tally
    if tally is not None and tally.runs_lost:
        texts.append(f"{tally.runs_lost} of {tally.runs_planned} runs left no figures")
    return "; ".join(texts)


def _proven(asked: Asked, parts: Sequence[PartAnswer]) -> Iterator[str]:
    proven = [part.subject for part in parts if part.proof.startswith("proven")]
    if not proven:
        return
    level = units.format_quantity(100 * stats.CONFIDENCE, "%")
    runs = units.counted(asked.campaign.plan.repetitions, "repetition")
    whose = ""
    if len(parts) > 1:
        whose = f" for {units.listed(proven)}"
    yield f"proven{whose} at {level} confidence, by {runs}"


def _settled_by(asked: Asked, subject: str) -> str:
    decision = asked.decision(subject)
    if decision is None:
        return ""
    return decision.settled_by


def _is(subjects: Sequence[str]) -> str:
    if len(subjects) == 1:
        return "is"
    return "are"


# ------------------------------------------------------------------ what is untested


_UNTESTED: Mapping[UntestedKind, str] = {
    "any measurement": "any disk: no figure was measured here",
    "real cluster": "a real cluster: a program for tests answered",
    "real disks": "real disks",
    "database": "YugabyteDB itself",
    "size of the data": "data of the size in production",
}


def _not_tested(asked: Asked, answer: Answer) -> str:
    names: dict[str, None] = {}
    for untested in answer.untested:
        name = _UNTESTED.get(untested.kind)
        if untested.kind == "number of nodes":
            name = _nodes(asked)
        if name:
            names[name] = None
    return ", ".join(names)


def _nodes(asked: Asked) -> str:
    """`3 nodes (1 was measured)`."""
    cluster = asked.campaign.plan.profiles[0].cluster
    if cluster.nodes_to_buy == cluster.nodes:
        return "another number of nodes"
    bought = units.counted(cluster.nodes_to_buy, "node")
    measured = f"{cluster.nodes} were measured"
    if cluster.nodes == 1:
        measured = "1 was measured"
    return f"{bought} ({measured})"
