"""An observation: a strip of hours for each candidate, a table, and sentences.

What is said of which disk is the observation's `Answer`; here it is laid out.
"""

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.disk_words import specified
from orchestrator.analysis.answers.named_disks import named_disks
from orchestrator.analysis.answers.record import (
    Answer,
    DiskOutlook,
    DisksToBuy,
    PartAnswer,
)
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
)
from orchestrator.extensions.observe.page import observation
from orchestrator.extensions.observe.page.observation_words import percent_in_words
from orchestrator.extensions.observe.page.observed_strip import week_strip
from orchestrator.extensions.observe.page.observed_tables import (
    ALL_COLUMNS,
    first_table,
    not_tested,
    table_of_disks,
)
from orchestrator.report.blocks import (
    Block,
    Code,
    Document,
    Paragraph,
    Part,
    Section,
    ShownAnswer,
    Stamp,
)
from orchestrator.report.sections.ticket import short_section
from orchestrator.texts import prose


def document(
    observed: AnsweredObservation,
    command: str,
    misses: Sequence[str],
    seconds_command: str = "",
    remarks: Sequence[str] = (),
) -> Document:
    """The page of an observation, whose first screen has a sentence for each provider.

    `command`: the line that measures what is worth it; `misses`: readings that failed, in words;
    `seconds_command`: the line that reads seconds; `remarks`: what is to be known of its sources.
    """
    answer = observation.observation_answer(
        observed, command, misses, seconds_command, remarks
    )
    return Document(
        title="Which disks would have carried this load?",
        subtitle=_subtitle(observed),
        status=answer.sureness.word,
        status_text=" ".join(answer.sureness.details),
        stamps=tuple(_stamps(answer)),
        answers=tuple(_shown(part, answer) for part in answer.parts),
        verdicts=first_table(observed),
        sections=tuple(_sections(observed, answer, command)),
        brief=answer.brief,
        named_disks=named_disks(answer),
        is_example=False,
    )


def _sections(
    observed: AnsweredObservation, answer: Answer, command: str
) -> Iterator[Section]:
    yield _ticket(observed, answer, command)
    week = Part("", week_strip(observed.answers))
    yield Section("week", "Hour by hour", (week,))
    disks = Part("", (table_of_disks(observed.answers, ALL_COLUMNS, (not_tested(),)),))
    yield Section("all", "Every disk", (disks,))
    blocks = (*_seconds_first(answer), *_next(command))
    # The heading would stand above nothing if no disk is worth it.
    if blocks:
        yield Section("next", "What to measure next", (Part("", blocks),))


def _ticket(observed: AnsweredObservation, answer: Answer, command: str) -> Section:
    # A ticket is read apart from the page, so it names the time and the disks.
    about = Paragraph(_subtitle(observed), "Observation")
    table = first_table(observed)
    commands: list[str] = []
    if command:
        commands.append(command)
    return short_section(answer.brief, about, table, commands)


def _subtitle(observed: AnsweredObservation) -> str:
    """When which disks were read, how often, and for how much of the time."""
    # The worst of all disks counts, so that no gap of one is hidden by the others.
    coverage = min(disk.coverage for disk in observed.disks)
    disks = prose.counted(len(observed.disks), "disk")
    interval = _interval_in_words(observed)
    share = percent_in_words(coverage)
    when = _when(observed)
    return f"{when}, {disks}, counters every {interval}, {share} of the time"


def _interval_in_words(observed: AnsweredObservation) -> str:
    """The interval of the readings in words: that of the disk that was read least often."""
    # The coarsest readings bound what can be said of the whole cluster.
    resolution_s = max(disk.resolution_s for disk in observed.disks)
    return units.format_seconds(round(resolution_s, 2))


def _when(observed: AnsweredObservation) -> str:
    begin_s = min(disk.begin_s for disk in observed.disks)
    end_s = max(disk.end_s for disk in observed.disks)
    return f"{units.format_moment(begin_s)} to {units.format_moment(end_s)}"


def _stamps(answer: Answer) -> Iterator[Stamp]:
    for caution in answer.cautions:
        # The first line says already that seconds are unknown.
        is_in_brief = caution.kind == "seconds unknown"
        yield Stamp(caution.kind, caution.text, caution.advice, is_in_brief)


def _shown(part: PartAnswer, answer: Answer) -> ShownAnswer:
    """The answer as it is shown. If there is one provider, the first line has the disk already."""
    price = ""
    headline = ""
    # No disk is known to have carried the load, or the readings give bounds only.
    if part.purchase is None:
        lines = [_open(part)]
    else:
        lines = [*_cheaper(part, part.purchase)]
    # The brief names the disk and its price, right above the card, if there is one provider.
    if part.purchase is not None and len(answer.parts) > 1:
        headline = specified(part.purchase.tier)
        # The catalog has the price of one node's disk, not of the cluster's.
        price = f"{phrases.monthly(part.purchase.price)} a node"
    text = " ".join(part.why)
    return ShownAnswer(
        workload=part.subject,
        tier=part.tier or "",
        text=text,
        price=price,
        headline=headline,
        lines=tuple(lines),
        folded=text,
    )


def _cheaper(part: PartAnswer, purchase: DisksToBuy) -> Iterator[str]:
    """What is cheaper and not excluded; else that nothing is."""
    for outlook in part.worth_measuring:
        # They stand from cheap to expensive: from the named disk on, none is cheaper.
        if outlook.tier == purchase.tier:
            break
        yield _outlook_in_words(outlook)
        return
    yield "No cheaper disk would have carried what was read."


def _open(part: PartAnswer) -> str:
    """The cheapest disk that is not excluded, where none is known to have carried it."""
    for outlook in part.worth_measuring:
        # A disk that certainly would not have carried it is no open question.
        if outlook.word == "cannot be told":
            return _outlook_in_words(outlook)
    return f"No disk of {part.subject} is known to have carried what was read."


def _outlook_in_words(outlook: DiskOutlook) -> str:
    disk = specified(outlook.tier)
    price = f"{phrases.monthly(outlook.price)} a node"
    if outlook.word == "would not":
        return f"{disk}, for {price}, would not have carried it."
    return f"Whether {disk} would carry the load, for {price}, {outlook.word}."


# ------------------------------------------------------------------ sections


def _seconds_first(answer: Answer) -> Iterator[Block]:
    """The command of the headline, as it can be copied."""
    for step in answer.next_steps:
        if step.kind == "read seconds" and step.command:
            yield Paragraph("Read seconds for an hour first, on each node:")
            yield Code(step.command)


def _next(command: str) -> tuple[Block, ...]:
    """Nothing where no disk is worth it: then no profile was written."""
    if not command:
        return ()
    text = (
        "A campaign measures what an observation cannot tell. The profiles below are written "
        "beside this page. Enter your cluster and your load in them."
    )
    return Paragraph(text), Code(command)
