"""What goes into a ticket: what to buy and why, what that rests on, and how to check it.

The page and `tierbench report -o md` draw this one section.
"""

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.record import Brief, DisksToBuy
from orchestrator.analysis.conclusions import Offer
from orchestrator.analysis.given_commands import given_command
from orchestrator.design import boxed_work, slo, slow_disks
from orchestrator.model import Workload
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Code,
    Items,
    Paragraph,
    Part,
    Section,
    ShownAnswer,
    Table,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import caveats, factors, summary
from orchestrator.texts import prose

# Whoever has the document finds the section by it.
ANCHOR = "ticket"


def section(index: ReportIndex) -> Section:
    """The answer for the cluster; of a campaign with one workload that one's."""
    headline = index.answer.brief.what
    notice = phrases.notice(index.answer)
    # A title is quoted alone, and must say that its figures are of no real cluster.
    if notice:
        headline = f"{notice}; {headline}"
    title = f"For the ticket: {headline}"
    return Section(ANCHOR, title, tuple(_parts(index)))


def short_section(
    answer: Brief, about: Paragraph, table: Table, commands: Sequence[str]
) -> Section:
    """The ticket of what no campaign measured: the lines of its answer, its disks, and the commands
    that measure them. `about`: which observation or prediction it is."""
    lines = [Paragraph(text, label) for label, text in answer.lines]
    parts = [Part("", (Items((*lines, about)), table))]
    if commands:
        parts.append(Part("How to measure it", (Code("\n".join(commands)),)))
    return Section(ANCHOR, f"For the ticket: {answer.what}", tuple(parts))


def _parts(index: ReportIndex) -> Iterator[Part]:
    yield from _listed("", [*_brief(index), *_bought(index.answer.purchase)])
    yield from _standings(index)
    yield from _listed("What that rests on", _why(index))
    yield from _listed("How far it holds", _paragraphs(factors.answers(index)))
    yield from _listed("Which is faster", _paragraphs(summary.faster(index)))
    yield from _listed("What was tested", _tested(index))
    yield from _listed("What limits it", _limits(index))
    yield from _listed("Notes", _notes(index))
    yield from _checks(index)


def _listed(title: str, rows: Iterable[Paragraph]) -> Iterator[Part]:
    """A part with a list; none if there is nothing to list."""
    items = tuple(rows)
    if items:
        yield Part(title, (Items(items),))


def _paragraphs(answers: Iterable[ShownAnswer]) -> Iterator[Paragraph]:
    for answer in answers:
        yield Paragraph(answer.text, answer.workload)


def _brief(index: ReportIndex) -> Iterator[Paragraph]:
    """The lines below the title, which says what to buy."""
    for label, text in index.answer.brief.lines:
        yield Paragraph(text, label)


def _bought(purchase: DisksToBuy | None) -> Iterator[Paragraph]:
    """What to buy, how many and at what price; nothing if no tier is named."""
    if purchase is None:
        return
    yield Paragraph(phrases.tier_in_words(purchase), "Tier")
    yield Paragraph(phrases.count_in_words(purchase), "Count")
    yield Paragraph(phrases.listed_price_in_words(purchase.price), "Price")
    machines = phrases.machines_in_words(purchase)
    if machines:
        yield Paragraph(machines, "Machines")


def _why(index: ReportIndex) -> Iterator[Paragraph]:
    """The reason of each part; that of the whole comes first."""
    for place, part in enumerate(index.answer.all_parts):
        lead = f"{part.subject}, {phrases.part_headline(part)}"
        # The reason need not name a workload if one answer is for all.
        if place == 0 and index.answer.is_for_all:
            lead = "Reason"
        yield Paragraph(" ".join(part.why), lead)


def _limits(index: ReportIndex) -> Iterator[Paragraph]:
    for limit in index.answer.limits:
        yield Paragraph(limit.text, limit.workload)


def _notes(index: ReportIndex) -> Iterator[Paragraph]:
    for stamp in caveats.stamps(index):
        yield Paragraph(stamp.text, stamp.label)
    for note in index.footnotes:
        yield Paragraph(note.text, note.where.capitalize())


# ------------------------------------------------------------------ every tier


def _standings(index: ReportIndex) -> Iterator[Part]:
    """What each tier costs, and whether it is enough: for each workload, and for all together."""
    offers = _offers(index)
    if not offers:
        return
    rows: list[dict[str, Cell]] = []
    for tier, offers_of_tier in offers.items():
        price = Cell(_price(offers_of_tier))
        standings = _standings_of(index, tier)
        rows.append({"Tier": Cell(tier, tier=tier), "A month": price, **standings})
    words = list(rows[0])
    # Every column is of words but the price.
    words.remove("A month")
    yield Part("", (table_of(rows, words),))


def _offers(index: ReportIndex) -> dict[str, list[Offer]]:
    """Each tier with figures, as each workload has it."""
    offers: dict[str, list[Offer]] = {}
    for decision in index.verdict.decisions:
        for offer in decision.offers:
            offers.setdefault(offer.tier, []).append(offer)
    return offers


def _price(offers: Sequence[Offer]) -> str:
    """`103.68 USD`, or `103.68 USD to 311.04 USD` where the nodes or disks are varied."""
    costs: list[float] = []
    for offer in offers:
        if offer.monthly_cost is not None:
            costs.append(offer.monthly_cost)
    if not costs:
        return ""
    currency = offers[0].currency
    least = wording.money(min(costs), currency)
    most = wording.money(max(costs), currency)
    if least == most:
        return least
    return f"{least} to {most}"


def _standings_of(index: ReportIndex, tier: str) -> dict[str, Cell]:
    """Workload → whether the tier is enough for it."""
    cells: dict[str, Cell] = {}
    for decision in index.verdict.decisions:
        # An empty cell would seem forgotten.
        standing = "no figures"
        offer = decision.offer(tier)
        if offer is not None:
            standing = offer.standing
        cells[decision.workload] = Cell(standing)
    cluster = index.verdict.cluster
    if cluster is not None:
        # A tier that was not judged is open, and not refused.
        cells["all together"] = Cell(cluster.standings.get(tier, "open"))
    return cells


# ------------------------------------------------------------------ what it rests on


def _load_in_words(load: Workload) -> str:
    threads = prose.counted(load.threads, "thread")
    windows = f"windows of {wording.measured_for(load)}"
    # A load that ends with its work has no window of a fixed length.
    if boxed_work.ends_with_work(load):
        windows = f"measured {wording.measured_for(load)}"
    slow = slow_disks.all_described(load.slow)
    # What one disk's weakness costs is no figure of the tier as it is.
    if slow:
        windows = f"{windows}, {slow}"
    return f"{load.name} ({threads}, {windows})"


def _tested(index: ReportIndex) -> Iterator[Paragraph]:
    plan = index.campaign.plan
    loads = [_load_in_words(load) for load in plan.workloads]
    yield Paragraph(summary.subtitle(index), "Campaign")
    yield Paragraph(prose.listed(loads), "Workloads")
    if plan.judging.weights:
        yield Paragraph(prose.named(plan.judging.weights), "Weights")
    clauses = slo.text_of(plan.workloads)
    if clauses:
        yield Paragraph(clauses, "SLO")
    sureness = index.answer.sureness
    result = wording.sentence(sureness.word)
    yield Paragraph(f"{result} {sureness.text}", "Result")


def _checks(index: ReportIndex) -> Iterator[Part]:
    command = given_command(index.campaign)
    if command:
        yield Part("Command", (Code(command),))
    checksum = index.campaign.checksum
    if checksum:
        fingerprints = "fingerprint.json"
        # The shell would leave the pattern as it is if there is none, and `cat` would fail.
        if any(index.campaign.later_fingerprints):
            fingerprints += " fingerprint-*.json"
        # The command reads as `store.checksum` does, so that anybody can check the folder by the
        # ticket.
        how = Code(f"cat plan.json {fingerprints} runs/*/record.json | sha256sum")
        title = "SHA-256 of the campaign, in its folder"
        yield Part(title, (Paragraph(checksum), how))
