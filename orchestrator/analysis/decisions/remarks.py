"""What is said beside an answer: what a reader must know of it besides the reason. Pure."""

from collections.abc import Mapping, Sequence

from orchestrator.analysis.conclusions import Offer
from orchestrator.analysis.decisions import offers
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.no_tier_named import settled_by
from orchestrator.analysis.decisions.pairs import Comparison
from orchestrator.analysis.decisions.preference import cost_or_zero
from orchestrator.analysis.decisions.reasons import are
from orchestrator.analysis.overload import Overload
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry.causes.node_cause import HARNESS_CAUSES
from orchestrator.design.slo import format_objective
from orchestrator.metrics import METRICS
from orchestrator.model import Objective
from orchestrator.texts.prose import capitalized, listed
from orchestrator.units import format_quantity, format_seconds

NOT_ITS_DISK = (
    "An SLO asks for absolute figures, and these are of this machine. "
    "Its disk is not the provider's own"
)
MOST_LOST_PCT = 100.0  # a longer latency than that is told in the table only
# A remark says whether so many of the single windows keep an SLO's percentile.
_WINDOWS_KEPT = 0.9
# Causes at which a faster disk would not raise throughput.
_NOT_THE_DISK = frozenset(
    {"cpu_bound", "single_core", "network_bound", "load_bound", "in_cache"}
)


def remarks(candidate: Candidate, contest: Contest) -> list[str]:
    """What a reader of the answer must know besides: a text for each thing that is so."""
    overload = contest.circumstances.overload
    texts = [
        *_still_open(candidate, contest),
        *_on_criteria(candidate, contest),
        _overloaded(overload),
        _overloaded_at_times(overload),
        _no_disk(contest),
        _machine(candidate),
        capitalized(without_prices(candidate, contest)),
        _unlike_prices(candidate, contest),
        *_not_compared(contest),
        _absent(contest.absent),
        limited_by(contest),
    ]
    return [text for text in texts if text]


def _on_criteria(candidate: Candidate, contest: Contest) -> list[str]:
    """What is to be said of how tiers are judged: by an SLO, or against one another."""
    if contest.rules.slo:
        return [*_windows(candidate, contest), _not_its_disk(candidate)]
    return [_at_ceiling(contest), _same_rate(contest)]


def _still_open(candidate: Candidate, contest: Contest) -> list[str]:
    """Remarks on open tiers that would be preferred if they were enough.

    These are tiers that cost less or as much.
    """
    passed_over = offers.passed_over(candidate, contest, "open")
    cheaper = offers.cheaper_than(candidate, passed_over, contest)
    names = [tier.name for tier in cheaper]
    as_dear = [tier.name for tier in passed_over if tier.name not in names]
    why = "is cheaper"
    # Tiers without prices stand in the order of their declared limits.
    if contest.no_prices:
        why = "declares less"
    open_cheaper = _open(names, why)
    if cheaper:
        next_step = settled_by(cheaper[0], contest).text
        if next_step:
            open_cheaper = f"{open_cheaper}: {next_step}"
    return [open_cheaper, _open(as_dear, "costs the same")]


def _open(tiers: Sequence[str], why: str) -> str:
    if not tiers:
        return ""
    return f"Whether {listed(tiers)}, which {why}, is enough is open"


# ------------------------------------------------------------------ with an SLO


def _windows(candidate: Candidate, contest: Contest) -> list[str]:
    """What is proven of the percentiles of an SLO: those of the mean, or of single windows too."""
    clauses = [
        clause
        for clause in contest.rules.slo
        if METRICS[clause.metric].percent is not None
    ]
    return [_remark_on_windows(clause, candidate, contest) for clause in clauses]


def _remark_on_windows(
    clause: Objective, candidate: Candidate, contest: Contest
) -> str:
    """What is known of single windows, by the one-sided tolerance bound (`stats.share_below`)."""
    values = (candidate.measured or {}).get(clause, ())
    confidence = looks.confidence(stats.CONFIDENCE, contest.rules.share)
    # The mean may be met while many windows miss: what holds for single ones is another claim.
    share_kept = stats.share_below(values, clause.limit, confidence)
    is_kept = share_kept >= _WINDOWS_KEPT
    mean = f"Of {format_objective(clause)} it is the mean that is below"
    if not is_kept:
        return f"{mean}; whether single windows keep it is not proven"
    level = _level(contest)
    return f"{mean}; 9 of 10 single windows keep it or more, with {level} confidence"


def _not_its_disk(candidate: Candidate) -> str:
    if candidate.profile.tier.disk.is_real:
        return ""
    return NOT_ITS_DISK


# ------------------------------------------------------------------ what ranks, what limits


def _at_ceiling(contest: Contest) -> str:
    if not contest.circumstances.at_ceiling:
        return ""
    return "Think time holds throughput at its ceiling on every tier: latency ranks"


def _same_rate(contest: Contest) -> str:
    # Nothing is ranked if only one tier serves the rate.
    if not contest.circumstances.overload.asked or len(contest.candidates) < 2:
        return ""
    return "All tiers are asked for the same rate, so latency ranks"


def _overloaded(overload: Overload) -> str:
    if not overload.always:
        return ""
    depends = "latency there depends on how long was measured and is not compared"
    return f"Overloaded at this rate{overload.circumstance} {are(overload.always)}: {depends}"


def _overloaded_at_times(overload: Overload) -> str:
    if not overload.unproven:
        return ""
    did_not = (
        f"did not serve the rate{overload.circumstance} in every run, without proof"
    )
    depends = "latency there depends on how long was measured and is not compared"
    return f"{listed(overload.unproven)} {did_not}: {depends}"


def _no_disk(contest: Contest) -> str:
    """If CPU or think time was the limit on every tier: as much as the comparisons allow."""
    if not all(tier.cause in _NOT_THE_DISK for tier in contest.candidates):
        return ""
    worse = _outside_of_refused(contest)
    if worse:
        is_latency_alone = all(comparison.criterion.is_latency for comparison in worse)
        # A tier that is slower in throughput contradicts that no disk limits it.
        if not is_latency_alone:
            return ""
        return "On no tier does the disk limit throughput, but latency depends on it"
    # Where something is open or not compared, latency may still depend on the disk.
    if contest.left_out or contest.standing("open"):
        return "On no tier does the disk limit throughput"
    return "The disk is not the limit on any tier"


def _outside_of_refused(contest: Contest) -> list[Comparison]:
    """The comparisons outside the margin, of tiers that are proven not to be enough."""
    comparisons: list[Comparison] = []
    for tier in contest.standing("not enough"):
        comparisons += contest.proof.comparisons[tier.name]
    return [comparison for comparison in comparisons if comparison.outside]


def _machine(candidate: Candidate) -> str:
    if candidate.cause not in HARNESS_CAUSES:
        return ""
    more = "on a larger one dearer tiers may do more"
    return f"With {candidate.name} this machine was the limit: {more}"


def limited_by(contest: Contest) -> str:
    """The doubts that limit the answer, with the number of runs; or an empty text."""
    return limits_in_words(contest.limited_by)


def limits_in_words(limits: Sequence[str]) -> str:
    """`What limits this answer: scale laptop, short window (3 runs)`; or an empty text."""
    if not limits:
        return ""
    return f"What limits this answer: {', '.join(limits)}"


# ------------------------------------------------------------------ prices


def without_prices(candidate: Candidate, contest: Contest) -> str:
    """How it was chosen where not all prices could be compared, and why; else empty."""
    # Where all others are proven not to be enough, no price would name one of them.
    if not contest.no_prices or _is_enough_alone(candidate, contest):
        return ""
    by = "declared limits"
    if offers.by_price(candidate, contest):
        by = "the prices that are known"
    return f"chosen by {by}: {contest.no_prices}"


def _is_enough_alone(candidate: Candidate, contest: Contest) -> bool:
    """Whether it has a price, and nothing is open of any other tier, nor another is enough."""
    if candidate.price is None:
        return False
    others = len(contest.candidates) - 1
    refused = len(contest.standing("not enough"))
    return not contest.absent and refused == others


def _unlike_prices(candidate: Candidate, contest: Contest) -> str:
    if not contest.unlike_prices:
        return ""
    return f"{contest.unlike_prices}{_as_long_as(candidate, contest)}"


def _as_long_as(candidate: Candidate, contest: Contest) -> str:
    """How far prices may be off before another tier would be named."""
    enough = offers.also_enough(candidate, contest)
    if not enough or not candidate.price or not candidate.monthly_cost:
        return ""
    # The cheapest of the others would be named first if prices were others.
    other = min(enough, key=cost_or_zero)
    cost = f"{candidate.monthly_cost:,.2f} {candidate.price.currency} a month"
    limit = f"the {cost} of {candidate.name}"
    return f": this holds unless {other.name} costs less than {limit}"


# ------------------------------------------------------------------ what is not compared


def _not_compared(contest: Contest) -> list[str]:
    """Criteria that a run lacks, and the tail of disks that have none; with an SLO none matters."""
    if contest.rules.slo:
        return []
    titles = listed([criterion.title for criterion in contest.left_out])
    constant = listed(contest.circumstances.constant_latency)
    texts: list[str] = []
    if titles:
        texts.append(f"Not compared, as not every run has it: {titles}")
    if constant:
        emulated = f"the emulated latency of {constant} is constant"
        texts.append(f"p99 latency is not compared: {emulated}")
    return texts


def _absent(tiers: Sequence[str]) -> str:
    if not tiers:
        return ""
    left = f"Left out, having no figures of every run: {listed(tiers)}"
    return f"{left}; what the disk can do is not known"


# ------------------------------------------------------------------ beside every answer


def least_margins(offered: Sequence[Offer]) -> str:
    """`premium is at most 7.2 % worse than the best (p99: 31 %) and ultra 2.1 % (p99: 12 %)`."""
    parts: list[str] = []
    for offer in offered:
        least_pct = offer.least_margin_pct
        if least_pct is None or least_pct > MOST_LOST_PCT:
            continue
        margin = format_quantity(least_pct, "%")
        text = f"{offer.tier} {margin}"
        if not parts:
            text = f"{offer.tier} is at most {margin} worse than the best"
        if offer.least_p99_margin_pct is not None:
            text += f" (p99: {format_quantity(offer.least_p99_margin_pct, '%')})"
        parts.append(text)
    return listed(parts)


def basis(contest: Contest) -> str:
    """What every figure of an answer rests on: level, repetitions by number, windows."""
    level = _level(contest)
    return f"each bound in brackets holds at {level}; {runs_in_words(contest)}"


def with_whose(owners: Mapping[str, Sequence[str]]) -> list[str]:
    """Each text with those of whom it is said; alone if it is said of all."""
    if len(owners) == 1:
        return list(owners)
    return [f"{text} of {listed(names)}" for text, names in owners.items()]


def runs_in_words(contest: Contest) -> str:
    """`n = 3 (repetitions 1 to 3), windows of 60 s`."""
    tiers: dict[str, list[str]] = {}
    for tier in contest.candidates:
        tiers.setdefault(_repetitions(tier), []).append(tier.name)
    # A tier that has lost a run has other repetitions than the rest.
    runs = with_whose(tiers)
    windows = ""
    if contest.runs.window_s:
        windows = f", windows of {format_seconds(contest.runs.window_s)}"
    return f"{', '.join(runs)}{windows}"


def _repetitions(candidate: Candidate) -> str:
    """`n = 3 (repetitions 1 to 3)`."""
    numbers = candidate.numbers
    count = len(numbers)
    if count < 2:
        return f"n = {count}"
    names = listed([str(number) for number in numbers])
    in_a_row = numbers == tuple(range(numbers[0], numbers[-1] + 1))
    if in_a_row and count > 2:
        names = f"{numbers[0]} to {numbers[-1]}"
    return f"n = {count} (repetitions {names})"


def _level(contest: Contest) -> str:
    """The confidence of each bound of the contest: `95 %`, or more while a campaign grows."""
    confidence = looks.confidence(stats.CONFIDENCE, contest.rules.share)
    return format_quantity(100 * confidence, "%")
