"""Doubts that extensions bring about the data of a run, and of those that are missing. Pure."""

from orchestrator.analysis.doubts import extension_records
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.registry.taking_part import doubting


def brought(run: RunData, _: Totals) -> Doubts:
    """What extensions doubt that do not exclude the run."""
    for extension in doubting(run.record):
        yield from extension_records.of_extension(extension, run, excludes=False)


def missing(run: RunData, _: Totals) -> Doubts:
    """A doubt for each extension that took part, is not installed, and has no doubts of its own."""
    yield from extension_records.absent(run.record)
