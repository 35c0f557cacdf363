"""The tables of an observation: what the answer goes by, and all figures of every disk."""

import math
from collections.abc import Sequence

from orchestrator.analysis.answers.disk_words import specified
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
    CandidateAnswer,
)
from orchestrator.extensions.observe.judging.drawn_seconds import Band
from orchestrator.extensions.observe.page import candidate_words, observation
from orchestrator.extensions.observe.page.observation_words import (
    UNKNOWN,
    band_in_words,
    percent_in_words,
)
from orchestrator.report.blocks import (
    Cell,
    Row,
    Table,
    table_of,
)

WAITS = "Where users wait"
QUEUES = "Where work queues"
SLACK = "30 % less to 10 % more"
ALL_COLUMNS = (
    "Disk",
    "A month",
    "Answer",
    WAITS,
    QUEUES,
    SLACK,
    "Cap",
    "Least credit",
    "Remark",
)
_AT_CAP = "At its cap"
_FIRST_COLUMNS = ("Disk", "A month", "Answer", _AT_CAP)
_COLUMNS_OF_WORDS = ("Disk", "Answer", "Cap", "Remark")
_FEW = 5  # rows on the first screen, where none is worth measuring


def first_table(observed: AnsweredObservation) -> Table:
    """What the answer goes by; as narrow as a telephone."""
    rows: list[Row] = []
    for candidate in _first_rows(observed):
        cap = candidate.on.binding
        row: dict[str, Cell | str] = {"Disk": specified(candidate.purchase.name)}
        row["A month"] = candidate_words.price_in_words(candidate)
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


def _first_rows(observed: AnsweredObservation) -> Sequence[CandidateAnswer]:
    """The candidates that are worth measuring; the cheapest few if none is."""
    worth: list[CandidateAnswer] = []
    for candidates in observed.worth.values():
        worth += candidates
    # Answers stand from cheap to expensive.
    return worth or observed.answers[:_FEW]


def _with_slack(candidate: CandidateAnswer) -> str:
    """The share of the time at the cap by which the answer goes, because another disk is not asked
    for the very same load."""
    slack = Band(candidate.on.at_cap_least, candidate.on.at_cap_most)
    return band_in_words(slack, candidate.at_least)


def table_of_disks(
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
    rows: list[Row] = [disk_row(candidate) for candidate in candidates]
    return table_of(rows, _COLUMNS_OF_WORDS, (figures, *remarks), titles)


def not_tested() -> str:
    """What was not tested, in a line."""
    *unsaid, cache = [item.text for item in observation.UNTESTED]
    return f"Not tested: {'; '.join(unsaid)}. {cache}"


def disk_row(candidate: CandidateAnswer) -> dict[str, str]:
    """Column's title → what stands there."""
    on_disk = candidate.on
    at_least = candidate.at_least
    row = {"Disk": candidate_words.disk_in_words(candidate)}
    row["A month"] = candidate_words.price_in_words(candidate)
    row["Answer"] = candidate.word
    row[WAITS] = band_in_words(on_disk.waits, at_least)
    row[QUEUES] = band_in_words(on_disk.queues, at_least)
    row[SLACK] = _with_slack(candidate)
    # It is empty where the load never comes to a cap.
    row["Cap"] = on_disk.binding or UNKNOWN
    row["Least credit"] = _least_credit(candidate)
    row["Remark"] = candidate.why
    return row


def _least_credit(candidate: CandidateAnswer) -> str:
    # The lowest hour counts: a mean would hide that the credit ran out.
    least = candidate.on.hours.least_credit
    credit = percent_in_words(least)
    # The observed disk held its load back, so more credit would have been used.
    if candidate.at_least and not math.isnan(least):
        return f"at most {credit}"
    return credit
