"""`tierbench observe`: which disks would have carried what a running cluster asked of its own."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
from typer import Option

from orchestrator import report, units
from orchestrator.analysis.observed.demand import COARSE_S, FEWEST_PIECES, SHORTEST, demands
from orchestrator.analysis.observed.judging import Observed
from orchestrator.cli import RESULTS
from orchestrator.cli.app import PLATFORM, App, sweeping
from orchestrator.cli.init import CLUSTERS
from orchestrator.cli.options import ResultsOption, names_in, percentage, profile_named, read_by, takes
from orchestrator.cli.plans import placed
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.histories import files, prometheus
from orchestrator.keys import addresses
from orchestrator.keys.messages import failure
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node
from orchestrator.parts import RunsElsewhere
from orchestrator.planning import project_files
from orchestrator.platforms.common.machines import LocalMachine, of_nodes
from orchestrator.powers import Machine
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
    profile: Annotated[str | None, profile_named()] = None
    calibrate: Annotated[
        str | None, Option(metavar="NxTIME", callback=read_by(lambda text: pieces_in(text)))
    ] = None
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
    if options.exporter or options.profile:  # the same line goes on in the same folder
        asked_for = (options.exporter, options.device, options.last)
        asked_for += tuple(filter(None, (options.profile, options.calibrate)))
        folder = results / f"observed-{zlib.crc32(' '.join(map(str, asked_for)).encode()):08x}"
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
    pieces = _pieces(options, length_s)
    if options.exporter or options.profile:
        with _watched(app, options) as (nodes, machines):
            disks = list(observing.of_disks(nodes, options.device))
            names = units.listed([disk.name for disk in disks])
            app.progress.note(
                f"reading {names} into {folder}; Ctrl-C ends it, and the same line goes on"
            )
            failed = observing.observe(folder, disks, length_s, app.clock, machines, pieces)
        misses += [f"{why} ({units.counted(count, 'time')})" for why, count in failed.items()]
        if not files.live(folder):
            raise failure(UnavailableError, "nothing was read", reasons=units.listed(misses))
        yield files.read(folder)


def pieces_in(text: str) -> observing.Pieces:
    """`168x5m`: how many, and seconds of each. ValueError."""
    number, _, length = text.partition("x")
    if not number.strip().isdigit():
        raise ValueError(f"expected pieces such as 168x5m, got {units.short(text)}")
    return int(number), units.parse_seconds(length)


def _pieces(options: Read, length_s: float) -> observing.Pieces | None:
    """UsageError if seconds could not be told from them."""
    if options.calibrate is None:
        return None
    if not (options.exporter or options.profile):
        raise failure(UsageError, "pieces of nothing live")
    number, piece_s = pieces_in(options.calibrate)
    least_s, most_s = SHORTEST * COARSE_S, length_s / 2
    if number < FEWEST_PIECES or piece_s < least_s or number * piece_s > most_s:
        raise failure(UsageError, "pieces", of=FEWEST_PIECES, least_s=least_s, most_s=most_s)
    return number, piece_s


@contextmanager
def _watched(app: App, options: Read) -> Iterator[tuple[list[Node], Sequence[Machine]]]:
    """The nodes, and the machines that are read because they are known by no exporter. Where that
    takes an agent, other campaigns are kept off them, and it is gone when the block has ended."""
    nodes = [Node(url, "database", sources={NODE_EXPORTER: url}) for url in options.exporter or ()]
    if options.profile is None:
        yield nodes, ()
        return
    profile = placed(app, options.profile)
    spec, platform = profile.cluster, profile.platform or PLATFORM
    database = app.parts(None).databases.get(spec.member)
    if "node_exporters" in spec.existing and isinstance(database, RunsElsewhere):
        yield [*nodes, *database.find_nodes(spec)], ()
        return
    hosts = addresses.read(spec.existing.get("hosts", "")).servers
    if platform == PLATFORM and not all(host.is_loopback for host in hosts):
        raise failure(UsageError, "disks of nobody", profile=profile.name)
    world = app.world(platform, profile.placing)
    machines = of_nodes(world.platform)
    sources = {DISK_DEVICE: " ".join(names_in(spec.existing.get("devices", "")))}
    nodes += [Node(each.name, "host", machine=each.name, sources=sources) for each in machines]
    here = all(isinstance(machine, LocalMachine) for machine in machines)
    with nullcontext() if here else sweeping(world, world.platform.guard.held()):
        yield nodes, machines
