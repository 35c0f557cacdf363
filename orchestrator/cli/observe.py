"""`tierbench observe`: which disks would have carried what a running cluster asked of its own."""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import pandas as pd
from typer import Option

from orchestrator import powers, report, units
from orchestrator.analysis.observed.demand import FEWEST_PIECES, SHORTEST, demands
from orchestrator.analysis.observed.judging import Observed
from orchestrator.cli import RESULTS, init, plans
from orchestrator.cli.app import PLATFORM, App, sweeping
from orchestrator.cli.options import (
    ResultsOption,
    percentage,
    profile_named,
    read_by,
    takes,
)
from orchestrator.databases.existing import ExistingCluster, declaration
from orchestrator.errors import UnavailableError, UsageError, require_none
from orchestrator.guards import GuardBeats
from orchestrator.histories import files, prometheus
from orchestrator.keys.messages import failure, message
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node
from orchestrator.planning import project_files
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.machines import HasEngines, LocalMachine, of_nodes
from orchestrator.report.rendering.terminal import TableView
from orchestrator.report.sections.observed import document
from orchestrator.run import observing
from orchestrator.system import clock
from orchestrator.tier_catalog.candidates import purchases


def pieces_in(text: str | None) -> observing.Pieces | None:
    """`168x5m`: how many, and seconds of each. ValueError if seconds cannot be told from them."""
    if text is None:
        return None
    number, _, length = text.partition("x")
    # some lost
    piece_s = units.parse_seconds(length)
    least_s = (SHORTEST + 1) * observing.COARSE_S
    if not number.isdigit() or int(number) < FEWEST_PIECES or piece_s < least_s:
        raise ValueError(message("pieces", of=FEWEST_PIECES, least_s=least_s))
    return int(number), piece_s


@dataclass(frozen=True)
class Read:
    """Where readings are from, and what they are held against."""

    file: list[Path] | None = None
    prometheus: str | None = None
    match: str = ""
    exporter: list[str] | None = None
    profile: Annotated[str | None, profile_named()] = None
    calibrate: Annotated[str | None, Option(callback=read_by(pieces_in))] = None
    last: Annotated[str, Option(callback=read_by(units.parse_seconds))] = "7d"
    device: Annotated[str, Option(callback=read_by(re.compile))] = ""
    source: str | None = None
    vm: str | None = None
    size: Annotated[str, Option(callback=read_by(units.parse_size))] = "1GiB"
    region: str | None = None
    at_cap: Annotated[float, Option("--at-cap", callback=percentage)] = 1.0


@takes(Read, in_json=True)
def observe(app: App, options: Read, results: ResultsOption = RESULTS) -> None:
    """Replays what a running cluster asked of its disks against all disks of the catalog; loads
    nothing."""
    catalog = project_files.catalog(app.root)
    size_bytes = units.parse_size(options.size)
    if options.source:
        source = project_files.bought(app.root, options.source)[0]
    else:
        source = None
    where = options.region, options.vm
    purchases(
        catalog, size_bytes, (), *where
    )  # refuses those not after a week of readings
    folder = results / f"{clock.stamp(app.clock.now())}-observed"
    misses = list[str]()
    if options.exporter or options.profile:  # the same line goes on in the same folder
        names = ("exporter", "device", "last", "profile", "calibrate")
        text = " ".join(
            str(value) for name in names if (value := getattr(options, name))
        )
        folder = results / f"observed-{zlib.crc32(text.encode()):08x}"
    tables = list(_read(app, options, folder, misses))
    if not tables:
        raise failure(UsageError, "nothing to observe")
    every = pd.concat(tables)
    has = sorted(set(every["device"]))
    named = re.compile(options.device or ".*").fullmatch
    read = every[every["device"].isin(list(filter(named, has)))]
    of_disks = demands(read)
    if not of_disks:
        raise failure(
            UsageError, "no such disk", device=options.device, has=units.listed(has)
        )
    observed = Observed.of(
        of_disks, options.at_cap / 100, source.limits if source else None
    )
    offers = purchases(catalog, size_bytes, observed.needs, *where)
    observed = observed.against(offers)
    asked = {name: value for name, value in asdict(options).items() if value}
    observing.write(folder, read, observed, asked)
    page = document(
        observed, observing.measure(folder, observed, init.CLUSTERS), misses
    )
    written = report.write_document(page, folder, app.cache)
    facts = {"folder": folder, "answers": list(map(observing.row, observed.answers))}
    texts = [f"{each.workload}: {each.text}" for each in page.answers]
    app.out.show(
        facts, page.subtitle, TableView(page.verdicts), *texts, str(written.html)
    )


def _read(
    app: App, options: Read, folder: Path, misses: list[str]
) -> Iterator[pd.DataFrame]:
    """All that there are readings of; into `misses` what could not be read."""
    length_s = units.parse_seconds(options.last)
    end_s = app.clock.now()
    pieces = pieces_in(options.calibrate)
    is_live = options.exporter or options.profile
    if pieces and (not is_live or pieces[0] * pieces[1] > length_s / 4):
        raise failure(UsageError, "no such pieces", pieces=options.calibrate)
    yield from map(files.read, options.file or ())
    if options.prometheus:
        which = options.prometheus, options.match, options.device or ".+"
        try:
            yield prometheus.read(*which, end_s - length_s, end_s)
        except OSError as error:
            raise failure(UnavailableError, "server not read", error=error) from error
    if is_live:
        with ExitStack() as up:
            nodes, machines, beats = _watched(app, options, up)
            disks = list(observing.of_disks(nodes, options.device))
            app.progress.note(
                message("reading live", disks=[d.name for d in disks], folder=folder)
            )
            told = set[str]()

            def look(failed: Mapping[str, int]) -> None:
                beats.require()  # another campaign has removed the agents, and all would be gaps
                for why in (
                    {each.partition(": OSError: ")[2] for each in [*failed]}
                    - told
                    - {""}
                ):
                    app.progress.warn(message("gap", why=why))
                    told.add(why)

            how = folder, disks, length_s, app.clock, machines, pieces
            failed = observing.observe(*how, look=look)
        misses += [
            f"{why} ({units.counted(count, 'time')})" for why, count in failed.items()
        ]
        if not files.live(folder):
            raise failure(
                UnavailableError, "nothing was read", reasons=units.listed(misses)
            )
        yield files.read(folder)


def _watched(
    app: App, options: Read, up: ExitStack
) -> tuple[list[Node], Sequence[powers.Machine], GuardBeats]:
    """The nodes, and the machines of those that no exporter shows. If that takes an agent, other
    campaigns are kept off the machines until `up` ends, with these signs of life."""
    nodes = [
        Node(url, "database", sources={NODE_EXPORTER: url})
        for url in options.exporter or ()
    ]
    if options.profile is None:
        return nodes, (), GuardBeats()
    profile = plans.placed(app, options.profile)
    spec = profile.cluster
    platform = profile.platform or PLATFORM
    declared, mistakes = declaration.read(spec)
    database = app.parts(None).databases.get(spec.member)
    if isinstance(database, ExistingCluster):
        require_none(mistakes, f"{profile.name} has mistakes", "correct the profile")
        if declared.node_exporters:
            return [*nodes, *database.find_nodes(spec)], (), GuardBeats()
    machines = tuple[powers.Machine, ...]([LocalMachine()])
    beats = GuardBeats()
    if not spec.existing or platform != PLATFORM:
        placing = profile.placing
        if placing and placing.machines:  # nothing runs on an engine of clients
            placing = replace(placing, client_machine=placing.machines[0])
        world = app.world(platform, placing)
        machines = of_nodes(world.platform)
        guard = world.platform.guard
        if isinstance(world.platform, HasEngines):
            world.platform.brings = (agent.IMAGE,)
        if not all(isinstance(machine, LocalMachine) for machine in machines):
            up.enter_context(sweeping(world, guard.held()))
            own_images.need(
                app.root, agent.IMAGE, world.platform
            )  # or how to get it is said
            beats = guard.beats
    elif not declared.servers or not all(
        server.is_loopback for server in declared.servers
    ):
        raise failure(UsageError, "disks of nobody", profile=profile.name)
    sources = {DISK_DEVICE: " ".join(declared.devices)}
    nodes += [
        Node(each.name, "host", machine=each.name, sources=sources) for each in machines
    ]
    return nodes, machines, beats
