"""An observation: a strip of hours for each candidate, a table, and sentences.

What is said of which disk is the observation's `Answer`; here it is laid out.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from orchestrator import units
from orchestrator.analysis.answers import observation, phrases
from orchestrator.analysis.answers.named_disks import named_disks
from orchestrator.analysis.answers.observation_words import (
    UNKNOWN,
    band_in_words,
    percent_in_words,
    specified,
)
from orchestrator.analysis.answers.record import (
    Answer,
    DiskOutlook,
    DisksToBuy,
    PartAnswer,
)
from orchestrator.analysis.observed.answered_observation import (
    AnsweredObservation,
    CandidateAnswer,
)
from orchestrator.report.blocks import (
    Block,
    Cell,
    Chart,
    Charts,
    Code,
    Document,
    Paragraph,
    Part,
    Row,
    Section,
    ShownAnswer,
    Stamp,
    Table,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.sections.ticket import short_section

_WAITS = "Where users wait"
_QUEUES = "Where work queues"
_SLACK = "30 % less to 10 % more"
_ALL_COLUMNS = (
    "Disk",
    "A month",
    "Answer",
    _WAITS,
    _QUEUES,
    _SLACK,
    "Cap",
    "Least credit",
    "Remark",
)
_AT_CAP = "At its cap"
_FIRST_COLUMNS = ("Disk", "A month", "Answer", _AT_CAP)
_SHOWN_AT_A_STRIP = ("Answer", _WAITS, _QUEUES, _SLACK, "Cap")
_COLUMNS_OF_WORDS = ("Disk", "Answer", "Cap", "Remark")
_HOUR_MS = 3_600_000
_Hour = dict[Hashable, Any]  # a mark of the strip: its fields by their names
_FEW = 5  # rows on the first screen, where none is worth measuring


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
        verdicts=_first_table(observed),
        sections=tuple(_sections(observed, answer, command)),
        brief=answer.brief,
        named_disks=named_disks(answer),
    )


def _sections(
    observed: AnsweredObservation, answer: Answer, command: str
) -> Iterator[Section]:
    yield _ticket(observed, answer, command)
    week = Part("", _week(observed.answers))
    yield Section("week", "Hour by hour", (week,))
    disks = Part("", (_table(observed.answers, _ALL_COLUMNS, (_not_said(),)),))
    yield Section("all", "Every disk", (disks,))
    blocks = (*_seconds_first(answer), *_next(command))
    # The heading would stand above nothing if no disk is worth it.
    if blocks:
        yield Section("next", "What to measure next", (Part("", blocks),))


def _ticket(observed: AnsweredObservation, answer: Answer, command: str) -> Section:
    # A ticket is read apart from the page, so it names the time and the disks.
    about = Paragraph(_subtitle(observed), "Observation")
    table = _first_table(observed)
    commands: list[str] = []
    if command:
        commands.append(command)
    return short_section(answer.brief, about, table, commands)


def _subtitle(observed: AnsweredObservation) -> str:
    """When which disks were read, how often, and for how much of the time."""
    # The worst of all disks counts, so that no gap of one is hidden by the others.
    coverage = min(disk.coverage for disk in observed.disks)
    disks = units.counted(len(observed.disks), "disk")
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
    return ShownAnswer(
        workload=part.subject,
        tier=part.tier or "",
        text=" ".join(part.why),
        price=price,
        headline=headline,
        lines=tuple(lines),
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


def _first_rows(observed: AnsweredObservation) -> Sequence[CandidateAnswer]:
    """The candidates that are worth measuring; the cheapest few if none is."""
    worth: list[CandidateAnswer] = []
    for candidates in observed.worth.values():
        worth += candidates
    # Answers stand from cheap to expensive.
    return worth or observed.answers[:_FEW]


# ------------------------------------------------------------------ the tables


def _first_table(observed: AnsweredObservation) -> Table:
    """What the answer goes by; as narrow as a telephone."""
    rows: list[Row] = []
    for candidate in _first_rows(observed):
        cap = candidate.on.binding
        row: dict[str, Cell | str] = {"Disk": specified(candidate.purchase.name)}
        row["A month"] = observation.price_in_words(candidate)
        row["Answer"] = candidate.word
        row[_AT_CAP] = Cell(_with_slack(candidate), detail=cap)
        rows.append(row)
    about = (
        f"{_AT_CAP}: share of the seconds, of the disk with the most load. It is a range, "
        "from 30 % less load to 10 % more. A database may ask another disk for up to a "
        "tenth more, and for less where users wait. The cap is named below. “Every disk” "
        "has all figures."
    )
    return table_of(rows, ("Disk", "Answer"), (about,), _FIRST_COLUMNS)


def _with_slack(candidate: CandidateAnswer) -> str:
    """The share of the time at the cap by which the answer goes, because another disk is not asked
    for the very same load."""
    slack = (candidate.on.less, candidate.on.more)
    return band_in_words(slack, candidate.at_least)


def _table(
    candidates: Sequence[CandidateAnswer],
    titles: Sequence[str],
    remarks: Sequence[str],
) -> Table:
    """`remarks`: to stand below how its figures are read."""
    figures = (
        "Seconds at the cap, of the disk with the most load, under the observed load. "
        "Where users wait for each I/O: seconds that ask for 95 % of the cap or more. "
        "Where work queues: seconds at the cap if all that waits is done later. The lower "
        "figure holds if waiting commits share a write, so that only reads are done "
        "later. Two figures are a range. A database may ask another disk for up to a "
        "tenth more, and for less where users wait. So a second range goes from 30 % less "
        "load to 10 % more. Answers use the second range. Credit is the lowest level, if "
        "it was full at first and commits shared writes."
    )
    rows: list[Row] = [_row(candidate) for candidate in candidates]
    return table_of(rows, _COLUMNS_OF_WORDS, (figures, *remarks), titles)


def _not_said() -> str:
    """What was not tested, in a line."""
    *unsaid, cache = [item.text for item in observation.UNTESTED]
    return f"Not tested: {'; '.join(unsaid)}. {cache}"


def _row(candidate: CandidateAnswer) -> dict[str, str]:
    """Column's title → what stands there."""
    on_disk = candidate.on
    at_least = candidate.at_least
    row = {"Disk": observation.disk_in_words(candidate)}
    row["A month"] = observation.price_in_words(candidate)
    row["Answer"] = candidate.word
    row[_WAITS] = band_in_words(on_disk.waits, at_least)
    row[_QUEUES] = band_in_words(on_disk.queues, at_least)
    row[_SLACK] = _with_slack(candidate)
    # It is empty where the load never comes to a cap.
    row["Cap"] = on_disk.binding or UNKNOWN
    row["Least credit"] = _least_credit(candidate)
    row["Remark"] = candidate.why
    return row


def _least_credit(candidate: CandidateAnswer) -> str:
    # The lowest hour counts: a mean would hide that the credit ran out.
    credit = percent_in_words(candidate.on.hours["credit"].min())
    # The observed disk held its load back, so more credit would have been used.
    if candidate.at_least and credit != UNKNOWN:
        return f"at most {credit}"
    return credit


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


def _week(candidates: Sequence[CandidateAnswer]) -> tuple[Block, ...]:
    """A strip of each candidate whose price is known."""
    labels: list[str] = []
    hours: list[_Hour] = []
    for candidate in candidates:
        if candidate.purchase.tier.price:
            row = _row(candidate)
            label = f"{row['Disk']} · {row['A month']} · {row['Answer']}"
            labels.append(label)
            hours.extend(_strip(candidate, label, row))
    about = (
        "A strip for each candidate, from cheap to expensive, hour by hour in UTC. "
        "Colour: the share of the hour at the cap, at most, from pale (0.01 %) to dark "
        "(100 %). Hatched: cannot be told. Grey: not read. Blue line below: burst credit "
        'left of the disk or its machine, if it was full at first. Where figures say "at '
        'least", both cover only what was read.'
    )
    strips_chart = Charts((_figure(labels, hours),), (), wide=True)
    return strips_chart, Paragraph(about)


def _figure(labels: Sequence[str], hours: Sequence[_Hour]) -> Chart:
    spec = charts.drawing("week", names=list(labels))
    title = "Share of each hour at the cap, at most, of every candidate"
    return charts.figure("week", title, spec, {"hours": hours})


def _strip(
    candidate: CandidateAnswer, label: str, row: dict[str, str]
) -> Sequence[_Hour]:
    """The hours of a candidate. Most disks have a week of hours that are alike, and all candidates'
    hours are twenty thousand marks: so hours in a row that are alike are one.

    Times are whole milliseconds, because figures of charts have six digits."""
    shown: _Hour = {title: row[title] for title in _SHOWN_AT_A_STRIP}
    # The sign of hatching stands in each hour.
    may_join = candidate.word != "cannot be told"
    strip: list[_Hour] = []
    shares_before: Sequence[str] = ()
    columns = candidate.on.hours[["begin_s", "upper", "credit", "node", "device"]]
    for begin_s, upper, credit, node, device in columns.itertuples(index=False):
        # Two digits: finer differences can hardly be seen, and would keep alike hours apart.
        shares = (f"{upper:.2g}", f"{credit:.2g}")
        # Vega takes times in milliseconds since 1970.
        begin_ms = round(1000 * begin_s)
        end_ms = begin_ms + _HOUR_MS
        hour: _Hour = {
            "upper": float(shares[0]),
            "credit": float(shares[1]),
            "node": node,
            "device": device,
            "from": begin_ms,
            "to": end_ms,
            "candidate": label,
            **shown,
        }
        # Shares are compared as texts: NaN is unlike itself, and hours that were not read join too.
        if may_join and shares == shares_before and _follows(hour, strip[-1]):
            strip[-1]["to"] = end_ms
        else:
            strip.append(hour)
        shares_before = shares
    return strip


def _follows(hour: _Hour, before: _Hour) -> bool:
    """Whether an hour begins where the one before it ends, and is of the same disk."""
    # A gap between two hours must stay a gap in the strip.
    is_next = hour["from"] == before["to"]
    is_same_disk = hour["node"] == before["node"] and hour["device"] == before["device"]
    return bool(is_next and is_same_disk)
