"""`tierbench observe`: which disks would have carried what a running cluster asked of its own."""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from orchestrator import units
from orchestrator.cli import RESULTS
from orchestrator.cli.app import App
from orchestrator.cli.init import CLUSTERS
from orchestrator.cli.options import ResultsOption, percentage, read_by, takes
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.keys.messages import failure
from orchestrator.system import clock

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Read:
    """Where readings are from, and what they are held against."""

    file: Annotated[
        list[Path] | None,
        Option(help="Of sadf, iostat or a CSV; a folder of them; an observation. Repeatable."),
    ] = None
    prometheus: Annotated[str | None, Option(help="A server, http://prom:9090.")] = None
    match: Annotated[str, Option(help="""Its series: 'job="node",instance=~"db.*"'.""")] = ""
    exporter: Annotated[
        list[str] | None, Option(help="Reads live: a node_exporter, http://db-1:9100; repeatable.")
    ] = None
    last: Annotated[
        str,
        Option(
            callback=read_by(units.parse_seconds),
            help="How much time of a server; how long an exporter is read.",
        ),
    ] = "7d"
    device: Annotated[str, Option(help="The disk: sdc; of Prometheus several with |.")] = ""
    source: Annotated[
        str | None,
        Option(help="The observed disk, azure/P30 or azure/premium-v2:size=1TiB,iops=5000."),
    ] = None
    vm: Annotated[str | None, Option(help="Its machine, such as azure/Standard_D8s_v5.")] = None
    size: Annotated[
        str, Option(callback=read_by(units.parse_size), help="How large a disk has to be.")
    ] = "1GiB"
    region: Annotated[str | None, Option(help="Whose prices.")] = None
    at_cap: Annotated[
        float, Option(callback=percentage, help="Percent of the time that may be at a cap.")
    ] = 1.0


@takes(Read, in_json=True)
def observe(app: App, options: Read, results: ResultsOption = RESULTS) -> None:
    """Replays what a running cluster asked of its disks against all disks of the catalog; loads
    nothing."""
    from orchestrator import report, tier_catalog
    from orchestrator.analysis.observed.demand import demands
    from orchestrator.analysis.observed.judging import Observed, worth_measuring
    from orchestrator.planning import profiles, project_files
    from orchestrator.report.rendering.terminal import TableView
    from orchestrator.report.sections.observed import ObservedPage, document
    from orchestrator.run import observation_files
    from orchestrator.tier_catalog import candidates

    catalog, tolerance = project_files.catalog(app.root), options.at_cap / 100
    size_bytes, source = units.parse_size(options.size), None
    if options.source:
        row, _, changes = options.source.partition(":")
        keys = [change for change in changes.split(",") if change]
        source = project_files.tier(app.root, row, keys, profiles.ANY_SCALE)[0].limits
    folder, misses = _folder(app, options, results), list[str]()
    read = _read(app, options, folder, misses)
    observed = Observed.of(demands(read), tolerance, source)
    needs = observed.needs(row.kind.io_unit_bytes for row in tier_catalog.tiers(catalog))
    offers = candidates.purchases(catalog, size_bytes, needs, options.region, options.vm)
    answers = observed.answers(offers)
    of_providers = units.gathered((each.purchase.provider, each) for each in answers)
    worth = [each for of in of_providers.values() for each in worth_measuring(of, tolerance)]
    asked = {name: value for name, value in asdict(options).items() if value}
    observation_files.write(folder, read, observed, answers, asked)
    names = " ".join(map(str, observation_files.profiles(folder, worth, CLUSTERS)))
    command = f'tierbench compare --profiles "{names}" --workloads tpcc' if names else ""
    page = document(ObservedPage(observed, answers, worth, command, misses))
    written = report.write_document(page, folder, app.cache)
    facts = {"folder": folder, "answers": list(map(observation_files.row, answers))}
    texts = [f"{each.workload}: {each.text}" for each in page.answers]
    app.out.show(facts, page.subtitle, TableView(page.verdicts), *texts, str(written.html))


def _folder(app: App, options: Read, results: Path) -> Path:
    """A new one; of a live observation, its own."""
    if not options.exporter:
        return results / f"{clock.stamp(app.clock.now())}-observed"
    asked = f"{options.exporter} {options.device} {options.last}"
    return results / f"observed-{zlib.crc32(asked.encode()):08x}"


def _read(app: App, options: Read, folder: Path, misses: list[str]) -> pd.DataFrame:
    """All that was read, and into `misses` what could not be. UsageError, UnavailableError."""
    import pandas as pd

    from orchestrator.histories import files, prometheus
    from orchestrator.run.observing import Observing

    tables, length_s = list(map(files.read, options.file or ())), units.parse_seconds(options.last)
    if options.prometheus:
        which, end_s = (options.prometheus, options.match, options.device or ".+"), app.clock.now()
        try:
            tables.append(prometheus.read(*which, end_s - length_s, end_s))
        except OSError as error:
            raise failure(UnavailableError, "server not read", error=error) from error
    if options.exporter:
        if not options.device:
            raise failure(UsageError, "no device of exporter")
        live = Observing(folder, options.exporter, options.device, app.clock)
        app.progress.note(f"reading into {folder}; Ctrl-C ends it, and the same line goes on")
        live.read(length_s)
        misses += [f"{reason} ({count} times)" for reason, count in live.misses.items()]
        if not files.samples(folder):
            raise failure(UnavailableError, "nothing was read", reasons=units.listed(misses))
        tables.append(files.read(folder))
    if not tables:
        raise failure(UsageError, "nothing to observe")
    read = pd.concat(tables)
    own = read[read["device"].str.fullmatch(options.device or ".*")]
    if own.empty:
        has = units.listed(sorted(set(read["device"])))
        raise failure(UsageError, "no such disk", device=options.device, has=has)
    return own
