"""The answer of a campaign in four lines: what to buy, why, how sure that is, what is untested.

A reader who has thirty seconds reads these and nothing else. Each says only what the verdict
proves; what bounds it is in the reasons of the answer's parts. Pure.
"""

from collections.abc import Iterator, Sequence

from orchestrator.analysis.answers import one_profile, provider_metrics, varied_brief
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.brief_of_one_profile import brief_of_one_profile
from orchestrator.analysis.answers.brief_reasons import (
    is_of_single_runs,
    why,
)
from orchestrator.analysis.answers.brief_sureness import how_sure, ways_to_settle
from orchestrator.analysis.answers.named_disks import named_disks
from orchestrator.analysis.answers.phrases import (
    headline,
    opening,
    price_in_words,
    sentence,
    tier_in_words,
)
from orchestrator.analysis.answers.record import (
    Answer,
    Brief,
    DisksToBuy,
    MonthlyPrice,
    PartAnswer,
)
from orchestrator.analysis.answers.sureness import MOOT
from orchestrator.analysis.answers.untested_words import is_untested, untested_in_words
from orchestrator.texts import prose


def campaign_brief(asked: Asked, answer: Answer) -> Brief:
    """`answer`: all of it but its brief."""
    if answer.kind == "comparison":
        brief = Brief(
            _what(asked, answer),
            why(asked, answer).text,
            how_sure(asked, answer),
            next_step=_next(asked, answer),
        )
    else:
        brief = brief_of_one_profile(asked, answer)
    # A line may begin with the name of a tier or a workload.
    names = [profile.name for profile in asked.campaign.plan.profiles]
    names += asked.subjects
    lines = Brief(
        # The first line is a headline, which has no full stop.
        what=headline(brief.what, names),
        why=opening(brief.why, names),
        how_sure=opening(brief.how_sure, names),
        not_tested=sentence(_not_tested(asked, answer)),
        price=sentence(brief.price),
        next_step=_with_metrics(asked, brief.next_step),
    )
    if answer.kind == "comparison":
        may_say_buy = _may_say_buy(asked, answer)
        return varied_brief.with_findings(asked, answer, lines, may_say_buy=may_say_buy)
    return lines


def claims_in_brief(asked: Asked, answer: Answer) -> set[str]:
    """The claims that the brief says: those of the answer's parts, what was found of a factor, and
    what would settle something."""
    if answer.kind == "one profile":
        return _claims_of_one_profile(asked, answer)
    if answer.kind != "comparison":
        return set()
    claims = ways_to_settle(asked, answer)
    may_say_buy = _may_say_buy(asked, answer)
    findings = varied_brief.findings_told(asked, answer, may_say_buy=may_say_buy)
    # What they say stands in the place of why a tier is named.
    claims.update(findings or why(asked, answer).claims)
    return claims


def _claims_of_one_profile(asked: Asked, answer: Answer) -> set[str]:
    # At several values its headline has no figures.
    if answer.sureness.word == "one tier":
        return set()
    return one_profile.claims_in_headline(asked, answer.parts)


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
        workloads = prose.all_of(len(parts), "workload")
        return f"no tier to buy yet: none is proven enough for {workloads}"
    if len(parts) == 1:
        return f"no tier to buy yet for {parts[0].subject}"
    return "; ".join(_tiers_for_workloads(parts))


def _met_by_none(asked: Asked, answer: Answer) -> str:
    """`no tier measured meets nopm > 20000`: for several workloads, the first with such a proof.

    Empty if no workload has one.
    """
    for part in answer.parts:
        if asked.is_met_by_none(part.subject):
            clauses = prose.listed([clause.objective for clause in part.slo])
            whose = ""
            if len(answer.parts) > 1:
                whose = f" for {part.subject}"
            return f"no tier measured meets {clauses}{whose}"
    return ""


def _tiers_for_workloads(parts: Sequence[PartAnswer]) -> Iterator[str]:
    """What to buy for each workload. What a tier is stands where it is named first."""
    described: set[str] = set()
    for part in parts:
        purchase = part.purchase
        if purchase is None:
            yield f"no tier yet for {part.subject}"
            continue
        words = tier_in_words(purchase)
        if words in described:
            words = purchase.tier
        described.add(words)
        yield f"{words} for {part.subject}{_for_price(purchase.price)}"


def _named(asked: Asked, answer: Answer, purchase: DisksToBuy) -> str:
    tier = tier_in_words(purchase)
    price = _for_price(purchase.price)
    if answer.is_example:
        return f"as an example, buy {tier}{price}"
    if _was_not_measured_here(answer):
        return f"{tier} is named, but do not buy by it{price}"
    # What bounds the answer most stands in its place; only what nothing bounds says "buy".
    word = answer.sureness.word
    # A latency that nobody measured may be wrong, and the tier hangs on it.
    if word == MOOT["assumed latency"]:
        return f"not decided: {tier} is enough if the assumed latency is right{price}"
    if word in MOOT.values():
        return f"{tier} is enough {word}{price}"
    # Enough is proven of the tier. That it is the cheapest cannot be, without comparable prices.
    if asked.is_price_open:
        return f"{tier} is enough; whether it is the cheapest is open"
    cheaper = _cheaper_open(answer)
    best_open = _best_open(answer)
    # Near the best of those measured is not near the best of those asked for.
    if best_open:
        texts = [f"{tier} is enough among the tiers measured{price}", cheaper]
        texts.append(f"{_was_not_compared(best_open)}, and may be better")
        return "; ".join(text for text in texts if text)
    if cheaper:
        return f"{tier} is enough{price}; {cheaper}"
    return f"buy {tier}{price}"


def _may_say_buy(asked: Asked, answer: Answer) -> bool:
    """Whether nothing bounds the answer but what is open of a workload."""
    if answer.is_example or _was_not_measured_here(answer):
        return False
    if _best_open(answer):
        return False
    return answer.sureness.word not in MOOT.values() and not asked.is_price_open


def _was_not_measured_here(answer: Answer) -> bool:
    """Figures that were read, or that a program for tests gave, carry no purchase."""
    return is_untested(answer, "any measurement") or is_untested(answer, "real cluster")


def _cheaper_open(answer: Answer) -> str:
    """`whether premium would be enough is open`; empty where no cheaper tier is.

    One that is excluded for all workloads together may still be open for one of them.
    """
    whole = answer.all_parts[0]
    if whole.cheaper_open:
        return f"whether {prose.listed(whole.cheaper_open)} would be enough is open"
    texts: list[str] = []
    for part in answer.parts:
        if part.cheaper_open:
            cheaper = prose.listed(part.cheaper_open)
            texts.append(f"{cheaper} would be enough for {part.subject} alone")
    if not texts:
        return ""
    return f"whether {prose.listed(texts)} is open"


def _best_open(answer: Answer) -> list[str]:
    """The dearer tiers without figures that may be better than all that were measured."""
    names: dict[str, None] = {}
    for part in answer.all_parts:
        names.update(dict.fromkeys(part.best_open))
    return list(names)


def _for_price(price: MonthlyPrice | None) -> str:
    """`: 182.58 USD a month for the disks of your 3 nodes`."""
    words = price_in_words(price)
    if not words:
        return ""
    return f": {words}"


def _was_not_compared(tiers: Sequence[str]) -> str:
    """`ultra was not compared`."""
    verb = "was"
    if len(tiers) > 1:
        verb = "were"
    return f"{prose.listed(tiers)} {verb} not compared"


# ------------------------------------------------------------------ what to do next


_MEASURE = "Measure it: `tierbench compare` takes the same options."
_REPEAT = "Measure each tier several times, such as with `--repeats 5`."
_BEYOND = "Measure a faster tier or a larger cluster, or relax the SLO."
_ON_REAL_DISKS = (
    "Before you buy, measure it on a real disk: `tierbench init NAME --path /mnt/DISK`."
)
_UNTIL_DECIDED = "Add `--until decided` to the command: it repeats what is open."


def _with_metrics(asked: Asked, next_step: str) -> str:
    """Behind what there is to do, what a provider may tell of a cause."""
    metrics = provider_metrics.of_campaign(asked)
    if metrics is None:
        return next_step
    return f"{next_step} {metrics.in_words()}".strip()


def _next(asked: Asked, answer: Answer) -> str:
    """Where something is open or untried and a further campaign would tell it; else empty."""
    if answer.is_example:
        return _MEASURE
    best_open = _best_open(answer)
    if best_open:
        return f"Measure again, because {_was_not_compared(best_open)}."
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
            decision = asked.verdict.decision(part.subject)
            if decision is not None and decision.repetitions_settle:
                return _UNTIL_DECIDED
    # What a purchase hangs on, and nobody has tried.
    if named_disks(answer) and is_untested(answer, "real disks"):
        return _ON_REAL_DISKS
    return ""


# ------------------------------------------------------------------ what is untested


def _not_tested(asked: Asked, answer: Answer) -> str:
    if answer.is_example:
        return "anything"
    return untested_in_words(asked, answer.untested)
