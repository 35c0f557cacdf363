"""The answer where only disks were measured, without a database: what each carries, and at what
price. Nothing there says which disk is enough, so none is named to buy. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from orchestrator import units
from orchestrator.analysis.answers import disk_ceilings, phrases, sureness
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.limits_of_runs import limits_of_most_runs
from orchestrator.analysis.answers.record import (
    Answer,
    Brief,
    NextStep,
    PartAnswer,
    Untested,
)
from orchestrator.analysis.answers.to_buy import disks_of_profile
from orchestrator.analysis.answers.untested_words import untested_in_words
from orchestrator.analysis.figures import matrix_laws
from orchestrator.analysis.results import finished
from orchestrator.model import Profile, Workload
from orchestrator.texts import prose


@dataclass(frozen=True)
class _MeasuredDisk:
    """A disk under one matrix. `rows`: its cells; `runs`: how often it was measured.

    Amounts of money are of the disk that was measured, at list price a month.
    """

    profile: Profile
    rows: pd.DataFrame
    runs: int

    @property
    def iops(self) -> matrix_laws.Ceiling:
        return matrix_laws.ceilings(self.rows, "iops")["all"]

    @property
    def limit_in_words(self) -> str:
        """`premium-v2 carries 3,000 IOPS for 20.07 USD a month`: what a headline has room for."""
        text = f"{self.profile.name} carries {disk_ceilings.bound(self.iops, 'IOPS')}"
        price = self.profile.tier.price
        if price is None:
            return text
        return f"{text} for {phrases.money(price.monthly, price.currency)} a month"

    @property
    def bandwidth_in_words(self) -> str:
        """`125 MB/s on premium-v2`."""
        ceiling = matrix_laws.ceilings(self.rows, "bytes_per_s")["all"]
        return f"{disk_ceilings.bound(ceiling, 'bytes/s')} on {self.profile.name}"

    @property
    def price_in_words(self) -> str:
        """`ultra (Azure Ultra Disk, 8 GiB) costs 20.07 USD a month a disk`; empty without a
        price."""
        price = self.profile.tier.price
        if price is None:
            return ""
        # The price of a tier is that of all disks that are striped to one.
        disks = "a disk"
        if self.profile.tier.count > 1:
            disks = f"for its {self.profile.tier.count} striped disks"
        amount = phrases.money(price.monthly, price.currency)
        tier = phrases.tier_in_words(
            disks_of_profile(self.profile, None, machines_in_price=False)
        )
        words = f"{tier} costs {amount} a month {disks}"
        if price.is_unverified:
            words = f"{words} (list price, {phrases.NOT_VERIFIED})"
        if not self.price_of_iops:
            return words
        return f"{words}, {self.price_of_iops}"

    @property
    def price_of_iops(self) -> str:
        """`6.69 USD per 1,000 IOPS measured`; empty without a price."""
        price = self.profile.tier.price
        if price is None or self.iops.value <= 0:
            return ""
        # The price is per 1,000 IOPS: that of a single one is too small a figure to read.
        amount = phrases.money(price.monthly / self.iops.value * 1000, price.currency)
        bound = ""
        # There may be more IOPS than were reached, so the price of each is at most that.
        if not self.iops.reached:
            bound = "at most "
        return f"{bound}{amount} per 1,000 IOPS measured"

    @property
    def latency_alone(self) -> str:
        """`1.20 ms on premium-v2`."""
        # The point nearest to a single small read: with more in flight the wait would be in it.
        latency_s = float(matrix_laws.lightest(self.rows)["typical_s"])
        return f"{units.format_seconds(latency_s)} on {self.profile.name}"


def disks_answer(asked: Asked, untested: Sequence[Untested]) -> Answer | None:
    """The answer; None where no disk was measured to its end."""
    disks: list[_MeasuredDisk] = []
    parts: list[PartAnswer] = []
    for workload in asked.campaign.plan.workloads:
        disks += _measured_disks(asked, workload)
        parts.append(_part(asked, workload))
    # The answer is the usual one if there are none: it says why runs left no figures.
    if not disks:
        return None
    command = f"tierbench compare --profiles {','.join(asked.tiers)}"
    next_step = NextStep("measure", "a database on these disks", command)
    return Answer(
        kind="disks alone",
        parts=tuple(parts),
        together=None,
        sureness=sureness.sureness_of_disks_alone(asked),
        untested=tuple(untested),
        next_steps=(next_step,),
        brief=_brief(asked, disks, untested, command),
    )


def _measured_disks(asked: Asked, workload: Workload) -> Iterator[_MeasuredDisk]:
    by_tier = disk_ceilings.measured_by_tier(asked, workload)
    for tier, rows in by_tier.items():
        runs = len(finished(asked.campaign, tier, workload.name))
        yield _MeasuredDisk(asked.campaign.plan.profile(tier), rows, runs)


def _part(asked: Asked, workload: Workload) -> PartAnswer:
    ceilings = disk_ceilings.in_short(asked, workload)
    return PartAnswer(
        subject=workload.name,
        about="workload",
        purchase=None,
        why=(ceilings or "No disk was measured to its end.",),
        proof="not judged",
    )


def _brief(
    asked: Asked,
    disks: Sequence[_MeasuredDisk],
    untested: Sequence[Untested],
    command: str,
) -> Brief:
    bandwidths: list[str] = []
    prices: list[str] = []
    latencies: list[str] = []
    for disk in disks:
        bandwidths.append(disk.bandwidth_in_words)
        latencies.append(disk.latency_alone)
        if disk.price_in_words:
            prices.append(disk.price_in_words)
    what, further = _iops_in_words(disks)
    bandwidth = f"fio found these limits, and {prose.listed(bandwidths)}"
    return Brief(
        what=what,
        why=f"{further}{bandwidth}; the lightest I/O took {prose.listed(latencies)}.",
        # No surer than of the disk that was measured the fewest times.
        how_sure=_how_sure(asked, min(disk.runs for disk in disks)),
        not_tested=_not_tested(asked, untested),
        price=phrases.closed("; ".join(prices)),
        next_step=f"Which disk is enough depends on the database: run `{command}`.",
    )


_MOST_IN_HEADLINE = 2


def _iops_in_words(disks: Sequence[_MeasuredDisk]) -> tuple[str, str]:
    """The IOPS of the disks as the first line, and what it has no room for."""
    texts = [disk.limit_in_words for disk in disks]
    if len(disks) <= _MOST_IN_HEADLINE:
        return "; ".join(texts), ""
    most = max(disks, key=_most_iops)
    return (
        f"{most.limit_in_words}, the most of {len(disks)} disks",
        f"{'; '.join(texts)}. ",
    )


def _most_iops(disk: _MeasuredDisk) -> float:
    return disk.iops.value


def _not_tested(asked: Asked, untested: Sequence[Untested]) -> str:
    text = "a database on them"
    further = untested_in_words(asked, untested)
    if further:
        text = f"{text}, {further}"
    return phrases.sentence(text)


def _how_sure(asked: Asked, runs: int) -> str:
    """`runs`: of the disk that was measured the fewest times."""
    times = prose.counted(runs, "time")
    if runs == 1:
        times = "once"
    text = f"Measured {times} by fio."
    of_campaign = sureness.sureness_of_disks_alone(asked)
    # First, because figures of the cache or of this machine are not the disks'.
    if of_campaign.word in sureness.MOOT.values():
        text = f"{phrases.sentence(of_campaign.word)} {text}"
    limits = "; ".join(limits_of_most_runs(asked, of_campaign.word))
    if limits:
        text = f"{text} {phrases.sentence(limits)}"
    tally = of_campaign.tally
    if tally is not None and tally.runs_lost:
        text = f"{text} {tally.runs_lost} of {tally.runs_planned} runs left no figures."
    return text
