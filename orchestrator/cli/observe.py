"""`tierbench observe`: which disks would have carried what a running cluster asked of its own."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
from typer import Option

from orchestrator import report, units
from orchestrator.analysis.observed.demand import demands
from orchestrator.analysis.observed.judging import Observed
from orchestrator.cli import RESULTS
from orchestrator.cli.app import App
from orchestrator.cli.init import CLUSTERS
from orchestrator.cli.options import ResultsOption, percentage, read_by, takes
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.histories import files, prometheus
from orchestrator.keys.messages import failure
from orchestrator.planning import project_files
from orchestrator.report.rendering.terminal import TableView
from orchestrator.report.sections.observed import document
from orchestrator.run import observing
from orchestrator.system import clock
from orchestrator.tier_catalog.candidates import purchases


@dataclass(frozen=True)
class Read:
    """Where readings are from, and what they are held against."""

    file: list[Path] | None = None
    prometheus: str | None = None
    match: str = ""
    exporter: list[str] | None = None
    last: Annotated[str, Option(callback=read_by(units.parse_seconds))] = "7d"
    device: str = ""
    source: str | None = None
    vm: str | None = None
    size: Annotated[str, Option(callback=read_by(units.parse_size))] = "1GiB"
    region: str | None = None
    at_cap: Annotated[float, Option("--at-cap", callback=percentage)] = 1.0


@takes(Read, in_json=True)
def observe(app: App, options: Read, results: ResultsOption = RESULTS) -> None:
    """Replays what a running cluster asked of its disks against all disks of the catalog; loads
    nothing."""
    catalog, size_bytes = project_files.catalog(app.root), units.parse_size(options.size)
    source = project_files.bought(app.root, options.source) if options.source else None
    folder, misses = results / f"{clock.stamp(app.clock.now())}-observed", list[str]()
    if options.exporter:  # the same line goes on in the same folder
        asked_for = f"{options.exporter} {options.device} {options.last}"
        folder = results / f"observed-{zlib.crc32(asked_for.encode()):08x}"
    if not (tables := list(_read(app, options, folder, misses))):
        raise failure(UsageError, "nothing to observe")
    every = pd.concat(tables)
    read = every[every["device"].str.fullmatch(options.device or ".*")]
    if not (of_disks := demands(read)):
        has = units.listed(sorted(set(every["device"])))
        raise failure(UsageError, "no such disk", device=options.device, has=has)
    observed = Observed.of(of_disks, options.at_cap / 100, source.limits if source else None)
    offers = purchases(catalog, size_bytes, observed.needs, options.region, options.vm)
    observed = observed.against(offers)
    asked = {name: value for name, value in asdict(options).items() if value}
    observing.write(folder, read, observed, asked)
    page = document(observed, observing.measure(folder, observed, CLUSTERS), misses)
    written = report.write_document(page, folder, app.cache)
    facts = {"folder": folder, "answers": list(map(observing.row, observed.answers))}
    texts = [f"{each.workload}: {each.text}" for each in page.answers]
    app.out.show(facts, page.subtitle, TableView(page.verdicts), *texts, str(written.html))


def _read(app: App, options: Read, folder: Path, misses: list[str]) -> Iterator[pd.DataFrame]:
    """All that there are readings of; into `misses` what could not be read."""
    length_s, end_s = units.parse_seconds(options.last), app.clock.now()
    yield from map(files.read, options.file or ())
    if options.prometheus:
        which = options.prometheus, options.match, options.device or ".+"
        try:
            yield prometheus.read(*which, end_s - length_s, end_s)
        except OSError as error:
            raise failure(UnavailableError, "server not read", error=error) from error
    if options.exporter:
        if not options.device:
            raise failure(UsageError, "no device of exporter")
        app.progress.note(f"reading into {folder}; Ctrl-C ends it, and the same line goes on")
        failed = observing.observe(folder, options.exporter, options.device, length_s, app.clock)
        misses += [f"{why} ({units.counted(count, 'time')})" for why, count in failed.items()]
        if not files.live(folder):
            raise failure(UnavailableError, "nothing was read", reasons=units.listed(misses))
        yield files.read(folder)
