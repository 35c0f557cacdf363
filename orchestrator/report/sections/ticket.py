"""What goes into a ticket: what to buy and why, what that rests on, and how to check it.

The page, `tierbench report --brief` and `--markdown` draw this one section."""

from collections.abc import Iterator

from orchestrator import units
from orchestrator.planning import node_disks, slo
from orchestrator.report import report_index, wording
from orchestrator.report.blocks import (
    Cell,
    Code,
    Items,
    Paragraph,
    Part,
    Section,
    table_of,
)
from orchestrator.report.sections import caveats, factors, method, summary


def section(index: report_index.ReportIndex) -> Section:
    """The answer for the cluster; of a campaign with one workload that one's."""
    first, *others = answers = summary.answers(index)
    alone = not others or index.verdict.cluster is not None
    tier = first.tier if alone else None
    name = tier or ("no answer" if alone else "an answer for each workload")
    why = [
        Paragraph(answer.text, f"{answer.workload}, {answer.tier or 'no answer'}")
        for answer in answers
    ]
    if alone:
        why[0] = Paragraph(first.text, "Why")
    limits = [cell for cell in index.verdict.bottlenecks if cell.profile == tier]
    doubts = [Paragraph(stamp.text, stamp.label) for stamp in caveats.stamps(index)]
    doubts += [
        Paragraph(note.text, note.where.capitalize()) for note in index.footnotes
    ]
    lists = {
        "": (*_bought(index, tier, first.price), *why),
        "How far it holds": tuple(
            Paragraph(of.text, of.workload) for of in factors.answers(index)
        ),
        "Which is faster": tuple(
            Paragraph(of.text, of.workload) for of in summary.faster(index)
        ),
        "What was tested": tuple(_tested(index)),
        "What limits it": tuple(Paragraph(cell.text, cell.workload) for cell in limits),
        "Doubts": tuple(doubts),
    }
    first_part, *parts = (
        Part(of, (Items(rows),)) for of, rows in lists.items() if rows
    )
    title = f"For the ticket: {name if index.contenders else summary.status(index)[0]}"
    return Section(
        "ticket", title, (first_part, *_standings(index), *parts, *_checks(index))
    )


def _bought(
    index: report_index.ReportIndex, tier: str | None, price: str
) -> Iterator[Paragraph]:
    if tier is None:
        return
    profile = index.campaign.plan.profile(tier)
    disk, cluster, listed = profile.tier, profile.cluster, profile.tier.price
    nodes, vm = cluster.nodes, cluster.vm_price
    limits = ((disk.limits.iops, "IOPS"), (disk.limits.bytes_per_s, "bytes/s"))
    declared = [units.format_quantity(limit, unit) for limit, unit in limits if limit]
    each = f", each {units.listed(declared)}" if declared else ""
    yield Paragraph(f"{tier}, {disk.title}{each}", "Tier")
    logs = len(node_disks.log_disks(disk))
    count = units.counted(nodes * disk.count + (0 if disk.wal else logs), "disk")
    count += f", {disk.count} of them striped to one" if disk.count > 1 else ""
    count += f", and {logs} of {disk.wal.title} for the WAL" if disk.wal else ""
    each_on = f", each on {cluster.vm}" if cluster.vm else ""
    yield Paragraph(f"{count}, for {units.counted(nodes, 'node')}{each_on}", "Count")
    if price and listed:
        price += f" at list price {wording.place(listed)}"
    yield Paragraph(price or "not known", "Price")
    if vm:
        total = wording.money(nodes * vm.monthly, vm.currency)
        beside = (
            "in it"
            if any(of.with_vms for of in index.verdict.decisions)
            else "beside it"
        )
        yield Paragraph(f"{beside} {total} a month {wording.place(vm)}", "Machines")


def _standings(index: report_index.ReportIndex) -> Iterator[Part]:
    """What each tier costs, and whether it is enough: for each workload, and for all together."""
    decisions, cluster = index.verdict.decisions, index.verdict.cluster
    offers = {
        (offer.tier, of.workload): offer for of in decisions for offer in of.offers
    }
    rows = []
    for name, offer in {offer.tier: offer for offer in offers.values()}.items():
        cost = offer.monthly_cost
        price = "" if cost is None else wording.money(cost, offer.currency)
        row = {"Tier": Cell(name, tier=name), "A month": Cell(price)}
        for load in (of.workload for of in decisions):
            own = offers.get((name, load))
            row[load] = Cell(own.standing if own else "no figures")
        if cluster is not None:
            row["all together"] = Cell(cluster.standings.get(name, "open"))
        rows.append(row)
    if rows:
        yield Part("", (table_of(rows, set(rows[0]) - {"A month"}),))


def _tested(index: report_index.ReportIndex) -> Iterator[Paragraph]:
    plan = index.campaign.plan
    loads = [
        f"{load.name} ({units.counted(load.threads, 'thread')}, windows of "
        f"{units.format_seconds(load.measure_s)})"
        for load in plan.workloads
    ]
    yield Paragraph(summary.subtitle(index), "Campaign")
    yield Paragraph(units.listed(loads), "Workloads")
    if plan.weights:
        yield Paragraph(units.named(plan.weights), "Weights")
    if clauses := slo.text_of(plan.workloads):
        yield Paragraph(clauses, "SLO")
    word, text = summary.status(index)
    yield Paragraph(f"{wording.sentence(word)} {text}", "Result")


def _checks(index: report_index.ReportIndex) -> Iterator[Part]:
    if command := method.command(index.campaign):
        yield Part("Command", (Code(command),))
    if checksum := index.campaign.checksum:
        how = Code("cat plan.json fingerprint.json runs/*/record.json | sha256sum")
        yield Part("SHA-256 of the campaign, in its folder", (Paragraph(checksum), how))
