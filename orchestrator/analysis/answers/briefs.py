"""The answer of a campaign in four lines: what to buy, why, how sure that is, what is untested.

A reader who has thirty seconds reads these and nothing else. Each says only what the verdict
proves; what bounds it is in the reasons of the answer's parts. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator import units
from orchestrator.analysis.answers import one_profile, varied_brief
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.brief_reasons import (
    is_of_single_runs,
    settled_by,
    why,
)
from orchestrator.analysis.answers.named_disks import named_disks
from orchestrator.analysis.answers.phrases import (
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
    Untested,
    UntestedKind,
)
from orchestrator.analysis.answers.sureness import MOOT
from orchestrator.analysis.answers.to_buy import stated_price
from orchestrator.analysis.statistics import stats
from orchestrator.design import purchase_prices


def campaign_brief(asked: Asked, answer: Answer) -> Brief:
    """`answer`: all of it but its brief."""
    if answer.kind == "comparison":
        brief = Brief(
            _what(asked, answer),
            why(asked, answer),
            _how_sure(asked, answer),
            next_step=_next(asked, answer),
        )
    else:
        brief = _brief_of_one_profile(asked, answer)
    lines = Brief(
        # The first line is a headline, which has no full stop.
        _opening(asked, brief.what).removesuffix("."),
        _opening(asked, brief.why),
        _opening(asked, brief.how_sure),
        sentence(_not_tested(asked, answer)),
        sentence(brief.price),
        brief.next_step,
    )
    if answer.kind == "comparison":
        return varied_brief.with_findings(asked, answer, lines)
    return lines


def _opening(asked: Asked, text: str) -> str:
    """The text with a capital letter at the start, unless it begins with the name of a tier or a
    workload."""
    names = [profile.name for profile in asked.campaign.plan.profiles]
    return opening(text, [*names, *asked.subjects])


# ------------------------------------------------------------------ one profile


def _brief_of_one_profile(asked: Asked, answer: Answer) -> Brief:
    """Nothing is bought: whether it meets its SLO, or what it did, and what limited it."""
    # There is no headline where something was varied, only a sentence.
    what = answer.sureness.headline or answer.sureness.text
    if answer.is_example:
        # Else figures that a model made up would read as measured ones.
        what = f"as an example: {one_profile.headline(asked, answer.parts)}"
    texts: list[str] = []
    if answer.sureness.word in ("SLO met", "SLO missed"):
        texts.append(f"proven at {_level()} confidence")
    # These words say nothing beside the count of runs.
    elif answer.sureness.word not in ("measured", "one tier", "SLO open"):
        texts.append(answer.sureness.word)
    texts += _times_measured(answer)
    texts += _overload(asked)
    texts += _lost(answer)
    how_sure = "; ".join(texts)
    limits = " ".join(one_profile.limits_in_words(asked))
    price = price_in_words(_price_of_one_profile(asked))
    return Brief(what, limits, how_sure, price=price, next_step=_NEXT)


# One profile alone leaves open what to buy.
_NEXT = "To learn which disk to buy, measure another beside it: `tierbench compare`."


def _overload(asked: Asked) -> Iterator[str]:
    for doubt in asked.verdict.doubts:
        if doubt.kind == "overload":
            yield "it does not serve the rate asked for"
            return


def _times_measured(answer: Answer) -> Iterator[str]:
    """How often tiers were measured, by the workload with the fewest runs that count."""
    if answer.is_example or _is_untested(answer, "any measurement"):
        return
    counts: list[int] = []
    for part in answer.parts:
        if part.measured is not None:
            counts.append(part.measured.throughput.n)
    fewest = min(counts, default=0)
    if fewest == 1:
        yield "measured once; `--repeats 5` tells how much runs differ"
    elif fewest > 1:
        yield f"measured {units.counted(fewest, 'time')}"


def _price_of_one_profile(asked: Asked) -> MonthlyPrice | None:
    """What the disks of the only profile cost a month at list price; None if that is not known."""
    profile = asked.campaign.plan.profile(asked.verdict.baseline)
    amount = purchase_prices.disks_monthly(profile)
    listed = profile.tier.price
    if amount is None or listed is None:
        return None
    return stated_price(profile, round(amount, 2), listed.currency, "disks")


# ------------------------------------------------------------------ what to buy


def _what(asked: Asked, answer: Answer) -> str:
    purchase = answer.purchase
    if purchase is not None:
        return _named(asked, answer, purchase)
    parts = answer.parts
    missed = _met_by_none(asked, answer)
    # It is proven that none meets the SLO, so this must not read as something still open.
    if missed:
        return missed
    if answer.together is not None:
        workloads = units.all_of(len(parts), "workload")
        return f"no tier to buy yet: none is proven enough for {workloads}"
    if len(parts) == 1:
        return f"no tier to buy yet for {parts[0].subject}"
    return "; ".join(_tier_for_workload(part) for part in parts)


def _met_by_none(asked: Asked, answer: Answer) -> str:
    """`no tier measured meets nopm > 20000`: for several workloads, the first with such a proof.

    Empty if no workload has one.
    """
    for part in answer.parts:
        if asked.is_met_by_none(part.subject):
            clauses = units.listed([clause.objective for clause in part.slo])
            whose = ""
            if len(answer.parts) > 1:
                whose = f" for {part.subject}"
            return f"no tier measured meets {clauses}{whose}"
    return ""


def _tier_for_workload(part: PartAnswer) -> str:
    if part.purchase is None:
        return f"no tier yet for {part.subject}"
    return f"{part.purchase.tier} for {part.subject}{_for_price(part.purchase.price)}"


def _named(asked: Asked, answer: Answer, purchase: DisksToBuy) -> str:
    price = _for_price(purchase.price)
    if answer.is_example:
        return f"as an example, buy {purchase.tier}{price}"
    # Figures that were read, or that a program for tests gave, carry no purchase.
    if _is_untested(answer, "any measurement") or _is_untested(answer, "real cluster"):
        return f"{purchase.tier} is named, but do not buy by it{price}"
    # What bounds the answer most stands in its place; only what nothing bounds says "buy".
    word = answer.sureness.word
    # A latency that nobody measured may be wrong, and the tier hangs on it.
    if word == MOOT["assumed latency"]:
        return f"not decided: {purchase.tier} is enough if the assumed latency is right{price}"
    if word in MOOT.values():
        return f"{purchase.tier} is enough {word}{price}"
    # Enough is proven of the tier. That it is the cheapest cannot be, without comparable prices.
    if purchase.price is None or _is_price_open(asked):
        return f"{purchase.tier} is enough; whether it is the cheapest is open"
    cheaper = units.listed(_cheaper_open(answer))
    if cheaper:
        return f"{purchase.tier} is enough{price}; whether {cheaper} would do is open"
    return f"buy {purchase.tier}{price}"


def _is_price_open(asked: Asked) -> bool:
    """Whether tiers were chosen without their prices in any decision."""
    return any(decision.without_prices for decision in asked.verdict.decisions)


def _cheaper_open(answer: Answer) -> list[str]:
    """The tiers that would be preferred and are not excluded, each once."""
    names: dict[str, None] = {}
    for part in answer.all_parts:
        names.update(dict.fromkeys(part.cheaper_open))
    return [*names]


def _for_price(price: MonthlyPrice | None) -> str:
    """`: 182.58 USD a month for the disks of your 3 nodes`."""
    words = price_in_words(price)
    if not words:
        return ""
    return f": {words}"


# ------------------------------------------------------------------ how sure


_OPEN: Mapping[ProofWord, str] = {
    "open": "open",
    "not decided": "not decided",
    "not compared": "not compared",
    "not judged": "not judged",
}


def _how_sure(asked: Asked, answer: Answer) -> str:
    if answer.is_example:
        return "not at all: nothing was measured"
    texts = [*_proven(asked, answer.parts), *_what_settles_cheaper(asked, answer)]
    for proof, word in _OPEN.items():
        subjects = _unsettled(asked, answer, proof)
        if not subjects:
            continue
        text = f"{units.listed(subjects)} {_is(subjects)} {word}"
        # The way to settle is that of the first: the others have theirs in their own parts.
        takes = settled_by(asked, subjects[0])
        if takes and len(subjects) > 1:
            takes = f"for {subjects[0]} {takes}"
        if takes:
            text = f"{text}; {takes}"
        texts.append(text)
    texts += _lost(answer)
    return "; ".join(texts)


def _what_settles_cheaper(asked: Asked, answer: Answer) -> Iterator[str]:
    """What would tell whether a cheaper tier would do, of the first workload where one is open."""
    for part in answer.parts:
        takes = settled_by(asked, part.subject)
        if part.cheaper_open and takes:
            yield f"for {part.cheaper_open[0]} {takes}"
            return


def _unsettled(asked: Asked, answer: Answer, proof: ProofWord) -> list[str]:
    subjects: list[str] = []
    for part in answer.parts:
        # It is settled that no tier meets the SLO, although the part names none.
        if part.proof == proof and not asked.is_met_by_none(part.subject):
            subjects.append(part.subject)
    return subjects


def _lost(answer: Answer) -> Iterator[str]:
    tally = answer.sureness.tally
    if tally is not None and tally.runs_lost:
        yield f"{tally.runs_lost} of {tally.runs_planned} runs left no figures"


_MOST_NAMED = 3  # workloads named in a line


def _proven(asked: Asked, parts: Sequence[PartAnswer]) -> Iterator[str]:
    proven: list[str] = []
    for part in parts:
        is_missed = asked.is_met_by_none(part.subject)
        # It is a proof too that every tier misses the SLO.
        if is_missed or part.proof.startswith("proven"):
            proven.append(part.subject)
    if not proven:
        return
    runs = units.counted(asked.campaign.plan.repetitions, "repetition")
    whose = ""
    if asked.campaign.plan.weights:
        whose = " by the weighted mean of the workloads"
    elif len(proven) > _MOST_NAMED:
        whose = f" for {len(proven)} of {len(parts)} loads"
    elif len(parts) > 1:
        whose = f" for {units.listed(proven)}"
    yield f"proven{whose} at {_level()} confidence, by {runs}"


def _level() -> str:
    return units.format_quantity(100 * stats.CONFIDENCE, "%")


def _is_untested(answer: Answer, kind: UntestedKind) -> bool:
    return any(untested.kind == kind for untested in answer.untested)


def _is(subjects: Sequence[str]) -> str:
    if len(subjects) == 1:
        return "is"
    return "are"


# ------------------------------------------------------------------ what to do next


_MEASURE = "Measure it: `tierbench compare` takes the same options."
_REPEAT = "Measure each tier several times, such as with `--repeats 5`."
_BEYOND = "Measure a faster tier or a larger cluster, or relax the SLO."
_ON_REAL_DISKS = (
    "Before you buy, measure it on a real disk: `tierbench init NAME --path /mnt/DISK`."
)
_UNTIL_DECIDED = "Add `--until decided` to the command: it repeats what is open."


def _next(asked: Asked, answer: Answer) -> str:
    """Where something is open or untried and a further campaign would tell it; else empty."""
    if answer.is_example:
        return _MEASURE
    # Single runs have no interval, so nothing else can be settled before.
    if is_of_single_runs(asked, answer):
        return _REPEAT
    for part in answer.parts:
        # More repetitions do not help where every tier is proven to miss.
        if asked.is_met_by_none(part.subject):
            return _BEYOND
    for part in answer.parts:
        if part.proof in ("open", "proven, cheaper open"):
            # More repetitions decide nothing if there is much noise, or if a machine was the limit.
            decision = asked.decision(part.subject)
            if decision is not None and decision.repetitions_settle:
                return _UNTIL_DECIDED
    # What a purchase hangs on, and nobody has tried.
    if named_disks(answer) and _is_untested(answer, "real disks"):
        return _ON_REAL_DISKS
    return ""


# ------------------------------------------------------------------ what is untested


_UNTESTED: Mapping[UntestedKind, str] = {
    "any measurement": "any disk: no figure was measured here",
    "real cluster": "a real cluster: a program for tests answered",
    "real disks": "real disks",
    "database": "YugabyteDB itself",
    "size of the data": "data of the size in production",
}


def _not_tested(asked: Asked, answer: Answer) -> str:
    if answer.is_example:
        return "anything"
    return untested_in_words(asked, answer.untested)


def untested_in_words(asked: Asked, untested: Sequence[Untested]) -> str:
    """`real disks, YugabyteDB itself, ultra (no run left figures)`; empty if nothing is."""
    names: dict[str, None] = {}
    for item in untested:
        name = _UNTESTED.get(item.kind)
        if item.kind == "number of nodes":
            name = _nodes(asked)
        if name:
            names[name] = None
    without_figures = list(_without_figures(asked))
    if without_figures:
        names[f"{units.listed(without_figures)} (no run left figures)"] = None
    return ", ".join(names)


def _without_figures(asked: Asked) -> Iterator[str]:
    """Tiers that were planned and that no cell is of."""
    # Else a reader who looks for one finds it nowhere.
    with_figures = {cell.profile for cell in asked.verdict.cells}
    for profile in asked.campaign.plan.tiers:
        if profile.name not in with_figures:
            yield profile.name


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
