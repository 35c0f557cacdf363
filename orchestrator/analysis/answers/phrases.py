"""Sentences and their parts, made from the record of an answer. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from orchestrator import units
from orchestrator.analysis.answers.record import (
    Answer,
    DisksToBuy,
    MonthlyPrice,
    PartAnswer,
)
from orchestrator.analysis.conclusions import NeighbourTier
from orchestrator.facts import STANDS_IN
from orchestrator.texts import prose
from orchestrator.tier import Price

NO_ANSWER = "no answer"
NONE_MEETS_IT = "no tier"
EXAMPLE = "EXAMPLE: nothing was measured, a model made all figures up"
# This is said of a price that was read in somebody's copy of a provider's list.
NOT_VERIFIED = "not verified"
LIST_PRICE_NOT_VERIFIED = f"list price, {NOT_VERIFIED}"


def notice(answer: Answer) -> str:
    """What is said before the answer; empty if nothing need be."""
    if answer.is_example:
        return EXAMPLE
    if answer.is_of_stand_in:
        return STANDS_IN
    return ""


def part_headline(part: PartAnswer) -> str:
    """The tier to buy, or that none is named."""
    return part.tier or NO_ANSWER


def choice(answer: Answer, part: PartAnswer) -> str:
    """The tier to buy; `no tier` if all are proven to miss the SLO; `no answer` if one was asked
    for; else empty."""
    if answer.is_unanswered(part) and answer.sureness.word == "SLO missed":
        return NONE_MEETS_IT
    if answer.is_unanswered(part):
        return NO_ANSWER
    return part.tier or ""


# ------------------------------------------------------------------ what to buy


def tier_in_words(purchase: DisksToBuy) -> str:
    """`ultra (Azure Ultra Disk, 250 GiB, 10,000 IOPS, 250 MB/s)`: a name that its user gave, and
    what to order by it."""
    disk = disk_in_words(purchase)
    if not disk:
        return purchase.tier
    return f"{purchase.tier} ({disk})"


def disk_in_words(purchase: DisksToBuy) -> str:
    """`2 × Azure Ultra Disk, each 250 GiB, 10,000 IOPS, 250 MB/s`: only what is declared."""
    name = purchase.product or purchase.title
    # The title of several disks has their number in it.
    if purchase.product and purchase.striped > 1:
        name = f"{purchase.striped} × {name}"
    figures: list[str] = []
    if purchase.size_bytes:
        figures.append(units.format_bytes(purchase.size_bytes))
    if purchase.iops:
        figures.append(units.format_quantity(purchase.iops, "IOPS"))
    if purchase.bytes_per_s:
        figures.append(units.format_quantity(purchase.bytes_per_s, "bytes/s"))
    # Titles of earlier releases have figures in them.
    figures = [figure for figure in figures if figure not in name]
    if figures and purchase.striped > 1:
        figures[0] = f"each {figures[0]}"
    if name:
        figures.insert(0, name)
    disks: list[str] = []
    if figures:
        disks.append(", ".join(figures))
    if purchase.log_title:
        disks.append(f"WAL on {purchase.log_title}")
    return "; ".join(disks)


def count_in_words(purchase: DisksToBuy) -> str:
    """`6 disks, 2 of them striped to one, for 3 nodes, each on azure/Standard_D8s_v5`.

    ValueError where only the tier is known.
    """
    if purchase.disks is None or purchase.nodes is None:
        raise ValueError(f"how many disks of {purchase.tier} to buy is not known")
    parts = [prose.counted(purchase.disks, "disk")]
    if purchase.striped > 1:
        parts.append(f"{purchase.striped} of them striped to one")
    # Disks for logs of the same kind are counted among the others already.
    if purchase.log_title is not None:
        parts.append(f"and {purchase.log_disks} of {purchase.log_title} for the WAL")
    parts.append(f"for {prose.counted(purchase.nodes, 'node')}")
    if purchase.machine:
        parts.append(f"each on {purchase.machine}")
    return ", ".join(parts)


# ------------------------------------------------------------------ prices


def money(amount: float, currency: str) -> str:
    """`780.00 USD`."""
    return f"{amount:,.2f} {currency}"


def monthly(price: MonthlyPrice | None) -> str:
    """`780.00 USD a month`; empty if not known."""
    if price is None:
        return ""
    return f"{money(price.amount, price.currency)} a month"


def price_in_words(price: MonthlyPrice | None) -> str:
    """`780.00 USD a month for the disks of your 3 nodes`; empty if not known."""
    if price is None:
        return ""
    return f"{money(price.amount, price.currency)} {scope_in_words(price)}"


def scope_in_words(price: MonthlyPrice) -> str:
    """What an amount is for: `a month for the disks of your 3 nodes`."""
    words = f"a month for the {price.covers}"
    if price.nodes is not None:
        words += f" of your {prose.counted(price.nodes, 'node')}"
    remarks: list[str] = []
    if price.region:
        remarks.append(f"list price in {price.region}")
    # None means that nobody said, which is no reason to doubt a price.
    if price.is_unverified and price.region:
        remarks.append(NOT_VERIFIED)
    elif price.is_unverified:
        remarks.append(LIST_PRICE_NOT_VERIFIED)
    if remarks:
        words += f" ({', '.join(remarks)})"
    return words


def listed_price_in_words(price: MonthlyPrice | None) -> str:
    """The list price in words, with the place and the date at which it was read."""
    if price is None:
        return "not known"
    # Where it was read, and whether it was verified, stands with its source.
    words = price_in_words(replace(price, verified=None, region=""))
    if not (price.region or price.as_of or price.source):
        return words
    return f"{words}. At list price {where_read(price)}"


def machines_in_words(purchase: DisksToBuy) -> str:
    """What the machines cost, and whether the price of the disks has it in it; empty if they have
    no price."""
    price = purchase.machines_price
    if price is None:
        return ""
    beside = "beside it"
    if purchase.machines_in_price:
        beside = "in it"
    amount = money(price.amount, price.currency)
    return f"{beside} {amount} a month {where_read(price)}"


def where_read(price: MonthlyPrice | Price) -> str:
    """Where, when and by whom a price was read: `(westus2, as of 2026-01-01; price list)`.

    A price that nobody read at the provider's says so.
    """
    words = f"{price.region}, as of {price.as_of}; {price.source}"
    if price.is_unverified:
        words += f"; {NOT_VERIFIED}"
    return f"({words})"


def step_in_words(step: NeighbourTier, word: str, currency: str | None) -> str:
    """What the neighbour in price changes. `word`: "dearer" or "cheaper" than the tier named."""
    side = "up"
    if word == "cheaper":
        side = "down"
    cost = ""
    if step.cost_change and currency:
        cost = f", {money(abs(step.cost_change), currency)} a month {word}"
    changes = prose.listed(
        [f"{change.title} {change.words}" for change in step.changes]
    )
    return f"One step {side}, {step.tier}{cost}: {changes}."


# ------------------------------------------------------------------ letters and stops


def closed(text: str) -> str:
    """The text with a full stop. For texts that begin with a name, which keeps its letter."""
    if not text or text[-1] in ".!?":
        return text
    return f"{text}."


def sentence(text: str) -> str:
    """The text with a capital at the start and a full stop at the end."""
    return closed(prose.capitalized(text))


def headline(text: str, names: Collection[str]) -> str:
    """The text with a capital at the start, unless one of `names` stands there."""
    # Names are given by their users, who know them as they wrote them.
    first_word = text.split(" ", 1)[0].rstrip(":,")
    if first_word in names:
        return text
    return prose.capitalized(text)


def opening(text: str, names: Collection[str]) -> str:
    """A sentence with a capital at the start, unless one of `names` stands there."""
    return closed(headline(text, names))


def ranges(numbers: Iterable[int]) -> str:
    """`1, 2, 3, 7` → `1–3, 7`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        # Numbers are in order, so only the last span can go on.
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(_span(first, last) for first, last in spans)


def _span(first: int, last: int) -> str:
    if first == last:
        return f"{first}"
    return f"{first}–{last}"
