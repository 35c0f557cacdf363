"""The four lines on top where only disks were measured, without a database: what each carries, and
at what price. An SLO aside, nothing there says which disk is enough, so none is named to buy."""

from orchestrator import units
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.record import Brief
from orchestrator.analysis.answers.sureness import MOOT
from orchestrator.analysis.figures import matrix_laws
from orchestrator.design import disk_matrix
from orchestrator.model import Profile
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import matrix_ceilings


def brief(index: ReportIndex, lines: Brief) -> Brief:
    """`lines`: those of the answer; they remain where no disk was measured to its end.

    Amounts of money are of the disk that was measured, at list price a month.
    """
    carried: list[str] = []
    prices: list[str] = []
    alone: list[str] = []
    measured_runs: list[int] = []
    for workload in index.workloads:
        cells = disk_matrix.planned(workload.options)
        measured = matrix_ceilings.measured_by_tier(index, workload.name, cells)
        for tier, rows in measured.items():
            profile = index.campaign.plan.profile(tier)
            iops = matrix_laws.ceilings(rows, "iops")["all"]
            rate = matrix_laws.ceilings(rows, "bytes_per_s")["all"]
            carried.append(_carried(profile, iops, rate))
            prices.append(_price_of_iops(profile, iops))
            latency_s = float(matrix_laws.lightest(rows)["typical_s"])
            alone.append(f"{units.format_seconds(latency_s)} on {tier}")
            measured_runs.append(len(index.finished(tier, workload.name)))
    if not carried:
        return lines
    untested = "a database on them"
    if lines.not_tested:
        untested = f"{untested}, {lines.not_tested[0].lower()}{lines.not_tested[1:]}"
    tiers = ",".join(index.tiers)
    return Brief(
        "; ".join(carried),
        f"fio found these limits; the lightest I/O took {units.listed(alone)}.",
        _how_sure(index, min(measured_runs)),
        phrases.sentence(untested),
        phrases.closed("; ".join(price for price in prices if price)),
        f"Measure a database on them: `tierbench compare --profiles {tiers}`.",
    )


def _carried(
    profile: Profile, iops: matrix_laws.Ceiling, rate: matrix_laws.Ceiling
) -> str:
    """`premium-v2 carries 3,000 IOPS and 125 MB/s for 20.07 USD a month a disk`."""
    most_iops = matrix_ceilings.bound(iops, "IOPS")
    most_bytes = matrix_ceilings.bound(rate, "bytes/s")
    text = f"{profile.name} carries {most_iops} and {most_bytes}"
    price = profile.tier.price
    if price is None:
        return f"{text} (price not known)"
    # The price of a tier is that of all disks that are striped to one.
    disks = "a disk"
    if profile.tier.count > 1:
        disks = f"for its {profile.tier.count} striped disks"
    amount = phrases.money(price.monthly, price.currency)
    return f"{text} for {amount} a month {disks}{_unverified(profile)}"


def _price_of_iops(profile: Profile, iops: matrix_laws.Ceiling) -> str:
    """`premium-v2 costs 6.69 USD a month per 1,000 IOPS`; empty without a price.

    Of a ceiling that was not reached there may be more IOPS, so the price is at most that.
    """
    price = profile.tier.price
    if price is None or iops.value <= 0:
        return ""
    amount = phrases.money(price.monthly / iops.value * 1000, price.currency)
    bound = ""
    if not iops.reached:
        bound = "at most "
    return f"{profile.name} costs {bound}{amount} a month per 1,000 IOPS measured"


def _unverified(profile: Profile) -> str:
    price = profile.tier.price
    if price is not None and price.verified is False:
        return f" (list price, {phrases.NOT_VERIFIED})"
    return ""


def _how_sure(index: ReportIndex, runs: int) -> str:
    """`runs`: of the disk that was measured the fewest times."""
    times = units.counted(runs, "time")
    if runs == 1:
        times = "once"
    text = f"Measured {times} by fio."
    sureness = index.answer.sureness
    if sureness.word in MOOT.values():
        text = f"{phrases.sentence(sureness.word)} {text}"
    tally = sureness.tally
    if tally is not None and tally.runs_lost:
        text = f"{text} {tally.runs_lost} of {tally.runs_planned} runs left no figures."
    return text
