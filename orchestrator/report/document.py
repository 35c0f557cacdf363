"""A campaign and its verdict as a document: the first screen, then all that it rests on."""

from collections.abc import Iterator

from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.named_disks import named_disks
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.registry.installed import family
from orchestrator.registry.references import ObjectPlace
from orchestrator.report.blocks import Document, Section
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import (
    cache,
    cards,
    conditions,
    decisions,
    deltas,
    disk_matrix,
    disks,
    factors,
    failures,
    latency,
    measured,
    method,
    nodes,
    over_time,
    resources,
    statements,
    summary,
    ticket,
    waits,
)
from orchestrator.report.sections.caveats import stamps


def arrange(campaign: Results, verdict: Verdict) -> Document:
    """The first screen, then tables, causes, charts, and the conditions they hold under."""
    index = ReportIndex(campaign, verdict)
    return Document(
        title=summary.title(index),
        subtitle=summary.subtitle(index),
        status=index.answer.sureness.word,
        status_text=index.status_text,
        stamps=stamps(index),
        answers=cards.answers(index, with_pictures=True),
        verdicts=summary.verdict_table(index),
        changes=deltas.charts_of_changes(index),
        footnotes=index.footnotes,
        sections=tuple(_sections(index)),
        tiers=index.tiers,
        notice=phrases.notice(index.answer),
        brief=index.answer.brief,
        named_disks=named_disks(index.answer),
        is_example=index.answer.is_example,
    )


def _sections(index: ReportIndex) -> Iterator[Section]:
    """The sections in the order of the page: what was found, with what, and how."""
    # What to buy comes first, and why: a reader in a hurry goes no further.
    yield ticket.section(index)
    yield from decisions.section(index)
    yield from factors.sections(index)
    # Sections of extensions stand behind the answer, and before the figures that it rests on.
    for owned in family("sections", dict[str, str]()).values():
        sections = ObjectPlace(owned.entry, owned.origin).imported()
        yield from sections(index)
    # The figures that the answer rests on come next, with what failed on the way.
    yield measured.section(index)
    yield from failures.section(index)
    yield from disk_matrix.sections(index)
    yield deltas.section(index)
    # The reasons why a tier was as fast as it was come next.
    yield resources.bottlenecks(index)
    yield from nodes.section(index)
    yield from resources.storage_engine(index)
    yield from statements.section(index)
    yield from waits.section(index)
    yield from resources.conservation(index)
    # The distributions and curves behind the means.
    yield from latency.section(index)
    yield over_time.section(index)
    # Last the conditions, by which others can check and repeat all of it.
    yield disks.section(index)
    yield cache.section(index)
    yield conditions.environment(index)
    yield method.section(index)
