"""How far each tier is enough while a factor grows, and why no further. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from orchestrator.analysis import overload, results
from orchestrator.analysis.conclusions import Decision, Standing
from orchestrator.analysis.decisions.values import Causes, Values
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes.cause import cause_in_words
from orchestrator.analysis.telemetry.use import all_nodes
from orchestrator.units import format_bytes, format_number

# Reads from the disk, a transaction: fewer are hardly any.
_READS = 0.1
# Multiple of the reads at the value before: from there on the data leave the cache.
_MORE_READS = 1.5


def horizons(
    values: Values, causes: Causes, decisions: Sequence[Decision]
) -> Iterator[str]:
    """For each tier, up to which value it is proven enough. The dearest tier is left out unless
    there is an SLO."""
    if not values.numbers:
        return
    at_values: list[Decision] = []
    for load in values.workloads:
        at_values += [answer for answer in decisions if answer.workload == load]
    # Values are gone through from the least upwards, up to the first that is not proven. In an
    # order fixed beforehand each may have the level of a single one, as in sweeps.
    standings = [_standings(decision) for decision in at_values]
    names = _tiers(standings)
    if not any(decision.slo for decision in at_values):
        # The dearest is what the others are held against.
        names = names[:-1]
    for name in names:
        yield _horizon(values, name, causes, _proven(values, name, standings))


def _standings(decision: Decision) -> dict[str, Standing]:
    return {offer.tier: offer.standing for offer in decision.offers}


def _tiers(standings: Sequence[Mapping[str, Standing]]) -> list[str]:
    """The tiers from cheap to dear, in the order of the first value with an answer."""
    for at_value in standings:
        if at_value:
            return list(at_value)
    return []


def _proven(
    values: Values, tier: str, standings: Sequence[Mapping[str, Standing]]
) -> list[Standing]:
    """Its standing at each value: one that does not serve the rate is not enough there."""
    proven: list[Standing] = []
    for at_value, runs in zip(standings, values.runs(tier), strict=True):
        if is_behind(runs):
            proven.append("not enough")
        else:
            proven.append(at_value.get(tier, "open"))
    return proven


def is_behind(runs: Sequence[RunData]) -> bool:
    """Whether a rate that was asked for is not served."""
    return any(overload.overloaded(run.record) for run in runs)


def _horizon(
    values: Values, tier: str, causes: Causes, standings: Sequence[Standing]
) -> str:
    ends = _first_unproven(standings)
    if ends is None:
        last = _value(values, tier, len(standings) - 1)
        return f"{tier} is proven enough at every value, up to {last}"
    refused = standings[ends] == "not enough"
    if ends == 0:
        # Where less of a factor is harder, it may be enough at more of it.
        never = "enough" not in standings
        text = _not_enough_at_first(values, tier, refused=refused, never=never)
    else:
        text = _enough_before(values, tier, ends, refused=refused)
    why = _change(values, tier, causes, before=max(0, ends - 1), after=ends)
    if why:
        return f"{text}: {why}"
    return text


def _not_enough_at_first(
    values: Values, tier: str, *, refused: bool, never: bool
) -> str:
    proven = "not proven enough"
    if refused:
        proven = "not enough"
    at = "at"
    if never:
        at = "even at"
    return f"{tier} is {proven} {at} {_value(values, tier, 0)}"


def _enough_before(values: Values, tier: str, ends: int, *, refused: bool) -> str:
    """`ends`: the place of the first value at which it is not enough, or open."""
    then = "that is open"
    if refused:
        then = "it is not"
    last = _value(values, tier, ends - 1)
    return f"{tier} is enough up to {last}; at {values.words[ends]} {then}"


def _first_unproven(standings: Sequence[Standing]) -> int | None:
    """Place of the first value at which it is not enough, or open."""
    for place, standing in enumerate(standings):
        if standing != "enough":
            return place
    return None


def _value(values: Values, tier: str, place: int) -> str:
    """`40 tables (4.6 GiB a node, 1.1 × memory)`."""
    size = _size(values, values.runs(tier)[place])
    return f"{values.words[place]}{size}"


def _size(values: Values, runs: Sequence[RunData]) -> str:
    """` (4.6 GiB a node, 1.1 × memory)`, where the factor is the size of the data."""
    datasets = {str(load.dataset) for _, load in values.loads}
    if len(datasets) < 2:
        return ""
    sizes_bytes: list[float] = []
    for run in runs:
        data_bytes = results.database_before(run.record).data_bytes
        if data_bytes:
            sizes_bytes.append(data_bytes)
    if not sizes_bytes:
        return ""
    size_bytes = fmean(sizes_bytes)
    node = runs[0].record.profile.cluster.node
    # Nobody has declared the memory of an existing cluster's nodes.
    if not node:
        return f" ({format_bytes(size_bytes)} a node)"
    times = format_number(size_bytes / node.memory_bytes)
    return f" ({format_bytes(size_bytes)} a node, {times} × memory)"


# ------------------------------------------------------------------ why it ends


def _change(
    values: Values, tier: str, causes: Causes, *, before: int, after: int
) -> str:
    """What is another at one value than at the other: reads from the disk, and the cause."""
    few = _disk_reads(values, tier, before)
    many = _disk_reads(values, tier, after)
    texts: list[str] = []
    # Growth alone is not enough: from hardly any to twice as many is still hardly any.
    if many > max(_READS, _MORE_READS * few):
        reads = f"{format_number(few)} → {format_number(many)} disk reads a transaction"
        texts.append(f"reads leave the cache ({reads})")
    first = _cause(values, tier, causes, before)
    then = _cause(values, tier, causes, after)
    if first and then and first != then:
        texts.append(f"limited by {then}, at {values.words[before]} by {first}")
    elif then:
        texts.append(f"limited by {then}")
    return "; ".join(texts)


def _cause(values: Values, tier: str, causes: Causes, place: int) -> str:
    """The cause in words; empty if none was found or none could be attributed."""
    cause = causes.get((tier, values.workloads[place]), "unattributed")
    if cause == "unattributed":
        return ""
    return cause_in_words(cause)


def _disk_reads(values: Values, tier: str, place: int) -> float:
    """Reads from all disks for a transaction; 0 if not known."""
    rate_per_s = values.means(tier, "throughput_per_s").get(place)
    if not rate_per_s:
        return 0.0
    totals = [all_nodes.total(run, None) for run in values.runs(tier)[place]]
    reads_per_s = [total.disk_read_iops or 0 for total in totals]
    return fmean(reads_per_s) / rate_per_s
