"""`tierbench observe`: which disks would have carried what a running cluster asked of its own."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from orchestrator import units
from orchestrator.cli import RESULTS
from orchestrator.cli.app import App
from orchestrator.cli.completion import among
from orchestrator.cli.init import CLUSTERS
from orchestrator.cli.options import ResultsOption, takes
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.system import clock

if TYPE_CHECKING:
    from orchestrator.analysis.observed.demand import Demand
    from orchestrator.tier import Limits

_OF_WAYS = {
    "file": ("format", "node"),
    "prometheus": ("match", "last"),
    "exporter": ("during", "every", "calibrate"),
}
_LENGTH, _EVERY = "7d", "1s"
_LONG, _LONG_S = re.compile(r"(\d+)([md])"), {"m": 60.0, "d": 86_400.0}
_PIECES = re.compile(r"(\d+)x(\w+)")
_NOT_HOST = re.compile(r"^https?://(?:[^@/]*@)?|/.*$")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")


@dataclass(frozen=True)
class Read:
    """Where readings are from, and what they are held against."""

    file: Annotated[
        list[Path] | None,
        Option(help="Of sadf, iostat, Azure, CloudWatch, CSV; or an observation."),
    ] = None
    format: Annotated[
        str | None, among("sadf, iostat, csv, azure, cloudwatch", "the form of --file.")
    ] = None
    node: Annotated[str, Option(help="Of a --file that names none.")] = ""
    device: Annotated[str, Option(help="The disk: sdc; of Prometheus several with |.")] = ""
    prometheus: Annotated[str | None, Option(help="A server, http://prom:9090.")] = None
    match: Annotated[str, Option(help="""Its series: 'job="node",instance=~"db.*"'.""")] = ""
    last: Annotated[str | None, Option(help="How much of its time; default 7d.")] = None
    exporter: Annotated[
        list[str] | None, Option(help="Reads live: a node_exporter, http://db-1:9100; repeatable.")
    ] = None
    during: Annotated[str | None, Option(help="How long it reads live; default 7d.")] = None
    every: Annotated[str | None, Option(help="How often it reads live; default 1s.")] = None
    calibrate: Annotated[
        str | None, Option(help="Live pieces read every second, such as 168x5m.")
    ] = None
    source: Annotated[
        str | None,
        Option(help="The observed disk, azure/P30 or azure/premium-v2:size=1TiB,iops=5000."),
    ] = None
    vm: Annotated[str | None, Option(help="Its machine, such as azure/Standard_D8s_v5.")] = None
    size: Annotated[str, Option(help="How large a disk has to be.")] = "1GiB"
    region: Annotated[str | None, Option(help="Whose prices.")] = None
    at_cap: Annotated[str, Option("--at-cap", help="How much of the time may be at a cap.")] = "1%"


@takes(Read, in_json=True)
def observe(app: App, options: Read, results: ResultsOption = RESULTS) -> None:
    """Replays what a running cluster asked of its disks against all disks of the catalog; loads
    nothing."""
    from orchestrator import report
    from orchestrator.analysis.observed.answer import Observed, worth_measuring
    from orchestrator.analysis.observed.demand import united
    from orchestrator.planning import project_files
    from orchestrator.report.rendering.terminal import TableView
    from orchestrator.report.sections import observed as page
    from orchestrator.run import observation_files
    from orchestrator.tier_catalog import candidates, tiers

    _require_effect(options)
    tolerance, size_bytes = _share(options.at_cap), _quantity(units.parse_size, options.size)
    source = _source(app, options.source)
    folder = _folder(app, options, results)
    demands, misses = _demands(app, options, folder)
    catalog = project_files.catalog(app.root)
    observed = Observed.of(united(demands), tolerance, source)
    needs = observed.needs(r.kind.io_unit_bytes for r in tiers(catalog) if r.kind.provisioned)
    offers = candidates.purchases(catalog, int(size_bytes), needs, options.region, options.vm)
    answers = observed.answers(offers)
    worth = [
        answer
        for provider in dict.fromkeys(offer.provider for offer in offers)
        for answer in worth_measuring(
            [each for each in answers if each.purchase.provider == provider], tolerance
        )
    ]
    asked = {name: value for name, value in asdict(options).items() if value}
    profiles = observation_files.write(folder, observed, answers, worth, asked, CLUSTERS)
    names = " ".join(map(str, profiles))
    command = f'tierbench compare --profiles "{names}" --workloads tpcc' if profiles else ""
    document = page.document(page.ObservedPage(observed, answers, worth, command, misses))
    written = report.write_document(document, folder, app.cache)
    facts = {"folder": folder, "answers": list(map(observation_files.row, answers))}
    texts = [f"{each.workload}: {each.text}" for each in document.answers]
    app.out.show(facts, document.subtitle, TableView(document.verdicts), *texts, str(written.html))


def _require_effect(options: Read) -> None:
    """UsageError for an option of a way to read that is not gone."""
    for way, names in _OF_WAYS.items():
        given = [name for name in names if getattr(options, name)]
        if given and not getattr(options, way):
            raise UsageError(f"--{given[0]} has no effect without --{way}")


def _folder(app: App, options: Read, results: Path) -> Path:
    """A new one; of a live observation that was interrupted, its own."""
    if not options.exporter:
        return results / f"{clock.stamp(app.clock.now())}-observed"
    same = f"{options.exporter} {options.device} {options.during} {options.every}"
    number, mark = 1, zlib.crc32(f"{same} {options.calibrate}".encode())
    while (results / f"observed-{mark:08x}-{number}" / "observed.json").exists():
        number += 1
    return results / f"observed-{mark:08x}-{number}"


def _demands(app: App, options: Read, folder: Path) -> tuple[list[Demand], list[str]]:
    """All that was read, and what could not be. UsageError, UnavailableError."""
    from orchestrator import histories
    from orchestrator.run import observation_files, observing

    demands: list[Demand] = []
    misses: list[str] = []
    for file in options.file or ():
        try:
            if file.is_dir():
                own = observation_files.demands(file) or observing.demands(file / "samples")
            else:
                text, names = file.read_text(encoding="utf-8"), (options.node, options.device)
                own = histories.read(str(file), text, options.format, *names)
        except (OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
        demands += own
    if options.prometheus:
        end_s = app.clock.now()
        begin_s, device = end_s - _seconds(options.last or _LENGTH), options.device or ".+"
        try:
            demands += histories.prometheus.read(
                options.prometheus, options.match, device, begin_s, end_s
            )
        except OSError as error:
            raise UnavailableError(str(error), advice="check --prometheus and --match") from error
    if options.exporter:
        live, misses = _live(app, options, folder)
        demands += live
    if not demands:
        advice = "give --file, --prometheus or --exporter: docs/OBSERVE.md has a recipe for each"
        raise UsageError("there is nothing to observe", advice=advice)
    return demands, misses


def _live(app: App, options: Read, folder: Path) -> tuple[list[Demand], list[str]]:
    """Reads until the time is over, or Ctrl-C; then the same line goes on."""
    from orchestrator.run import observing

    exporters = [
        observing.Exporter(_NOT_HOST.sub("", url), url, options.device)
        for url in options.exporter or ()
    ]
    if not options.device:
        raise UsageError("--exporter needs --device: the disk as /proc/diskstats names it")
    pieces = _PIECES.fullmatch(options.calibrate or "")
    if options.calibrate and not pieces:
        raise UsageError(f"--calibrate {options.calibrate!r}", advice="write 168x5m")
    number, each_s = (int(pieces[1]), _seconds(pieces[2])) if pieces else (0, 0.0)
    length_s, every_s = _seconds(options.during or _LENGTH), _seconds(options.every or _EVERY)
    pace = observing.ReadingPace(length_s, every_s, number, each_s)
    reading = observing.Observing(folder / "samples", exporters, pace, app.clock)
    app.progress.note(f"reading into {folder}; Ctrl-C ends it, and the same line goes on")
    reading.read()
    try:
        demands = observing.demands(folder / "samples")
    except ValueError as error:
        reasons = units.listed(list(reading.misses)) or "no time"
        raise UnavailableError(f"{error}: {reasons}", advice="check --exporter") from error
    return demands, [f"{reason} ({count} times)" for reason, count in reading.misses.items()]


def _source(app: App, text: str | None) -> tuple[Limits, int | None] | None:
    from orchestrator.planning import profiles, project_files

    if text is None:
        return None
    row, _, changes = text.partition(":")
    keys = [change for change in changes.split(",") if change]
    tier, _ = project_files.tier(app.root, row, keys, profiles.ANY_SCALE)
    return tier.limits, tier.limits.io_unit_bytes


def _seconds(text: str) -> float:
    """Minutes and days as Prometheus writes them too: 5m, 7d."""
    long = _LONG.fullmatch(text)
    return int(long[1]) * _LONG_S[long[2]] if long else _quantity(units.parse_seconds, text)


def _share(text: str) -> float:
    """`0.5%`."""
    share = _PERCENT.fullmatch(text)
    if share is None or not 0 <= float(share[1]) < 100:
        raise UsageError(f"--at-cap {text!r} is no share of the time", advice="write 0.5%")
    return float(share[1]) / 100


def _quantity(parse: Callable[[object], float], text: str) -> float:
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(str(error)) from error
