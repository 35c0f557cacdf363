"""`tierbench observe`: which disks would have carried what a running cluster asked of its own."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import pandas as pd
from typer import Option

from orchestrator import collectors, powers, report, units
from orchestrator.analysis.observed.demand import FEWEST_PIECES, SHORTEST, demands
from orchestrator.analysis.observed.judging import Observed
from orchestrator.cli import (
    RESULTS,
    addresses,
    forms,
    init,
    managed_prometheus,
    plans,
    seconds,
    stripes,
)
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
from orchestrator.histories import files as histories
from orchestrator.histories import prometheus
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node, Profile
from orchestrator.planning import project_files
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.report.rendering.terminal import TableView
from orchestrator.report.sections.observed import document
from orchestrator.run import observation_folders, observing
from orchestrator.system import clock, http_client, observation_files
from orchestrator.tier import Limits
from orchestrator.tier_catalog.candidates import Purchase, purchases
from orchestrator.tier_catalog.catalog import Catalog


def pieces_in(text: str | None) -> observing.Pieces | None:
    """`168x5m`: how many, and seconds of each. ValueError if seconds cannot be told from them."""
    if text is None:
        return None
    number, _, length = text.partition("x")
    piece_s = units.parse_seconds(length)
    # One interval more than is needed, because a reading may be lost.
    least_s = (SHORTEST + 1) * observing.COARSE_S
    if not number.isdigit() or int(number) < FEWEST_PIECES or piece_s < least_s:
        least = units.format_seconds(least_s)
        raise ValueError(
            f"expected {FEWEST_PIECES} pieces or more of {least} or more, such as 168x5m"
        )
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
    striped: bool = False
    vm: str | None = None
    size: Annotated[str | None, Option(callback=read_by(units.parse_size))] = None
    region: str | None = None
    at_cap: Annotated[float, Option("--at-cap", callback=percentage)] = 1.0

    @property
    def reads_live(self) -> bool:
        return bool(self.exporter or self.profile)


@takes(Read, shown_as=forms.OR_JSON)
def observe(app: App, options: Read, results: ResultsOption = RESULTS) -> None:
    """Replays what a running cluster asked of its disks against all disks of the catalog; loads
    nothing."""
    _check_something_is_read(options)
    addresses.check(options.exporter or (), options.prometheus)
    catalog = project_files.catalog(app.root)
    source = _source_limits(app, options)
    size_bytes = _size_bytes(app, options)
    # Refuses a region or a machine now, and not after a week of readings.
    _offers(catalog, options, size_bytes, ())
    with _folder(app, options, results) as folder:
        _observe(app, options, folder, source, size_bytes, catalog)


def _observe(
    app: App,
    options: Read,
    folder: Path,
    source: Limits | None,
    size_bytes: int,
    catalog: Catalog,
) -> None:
    """Reads into the folder, judges what was read there, and shows it."""
    readings = _read(app, options, folder)
    chosen = _of_device(readings, options.device)
    of_disks = demands(chosen, source)
    if not of_disks:
        raise _no_such_disk(options.device, readings)
    if options.striped:
        of_disks = stripes.summed(of_disks, options.device)
    observed = Observed.of(of_disks, options.at_cap / 100, source)
    offers = _offers(catalog, options, size_bytes, observed.needs)
    observed = observed.against(offers)
    given = {name: value for name, value in asdict(options).items() if value}
    following = observing.next_campaign(folder, observed, init.CLUSTERS)
    seconds_command = seconds.command(given, observed.demands)
    page = document(
        observed,
        following.command,
        readings.misses,
        seconds_command,
        readings.remarks,
    )
    rows = [observing.row(answer) for answer in observed.answers]
    app.out.show(
        {"folder": folder, "status": page.status, "answers": rows},
        f"{page.status}: {page.status_text}",
        page.subtitle,
        TableView(page.verdicts),
        *[f"{answer.workload}: {answer.text}" for answer in page.answers],
    )
    texts = {**following.texts, **report.files_of(page, app.cache)}
    observing.write(folder, chosen, observed, given, texts)
    app.out.add(str(folder / report.PAGE))


def _source_limits(app: App, options: Read) -> Limits | None:
    """Of each observed device, if a row of the catalog is named that it is."""
    if not options.source:
        return None
    tier, _holds_bytes = project_files.bought(app.root, options.source)
    if options.striped and tier.count > 1:
        raise UsageError(
            f"--source {options.source} is a stripe, and --striped sums its devices",
            "name one device: --source without count",
        )
    return tier.limits


def _size_bytes(app: App, options: Read) -> int:
    """What a disk in the place of each observed one has to hold. UsageError if nobody says it:
    counters of a disk do not tell it, and no default would be near."""
    if options.size is not None:
        return units.parse_size(options.size)
    if options.profile is not None:
        profile = plans.placed(app, options.profile)
        size_bytes = _bytes_of_its_disk(profile, options.striped)
        if size_bytes:
            size = units.format_bytes(size_bytes)
            app.progress.note(f"a disk has to hold {size}, as that of {profile.name}")
            return size_bytes
    raise UsageError(
        "how large a disk has to be is not known, because counters do not tell it",
        "say what the disk holds, or will: --size 250GiB",
    )


def _bytes_of_its_disk(profile: Profile, is_striped: bool) -> int:
    """Of one of its disks, or of all of a node that are one stripe; 0 if it is not known."""
    disk_bytes = profile.tier.origin.size_bytes or 0
    if is_striped:
        return disk_bytes * profile.tier.count
    return disk_bytes


def _offers(
    catalog: Catalog, options: Read, size_bytes: int, needs: Sequence[float]
) -> Sequence[Purchase]:
    """Disks of this size that carry `needs`, as of `Observed`."""
    return purchases(catalog, size_bytes, needs, options.region, options.vm)


def _folder(app: App, options: Read, results: Path) -> AbstractContextManager[Path]:
    """Called by the time; where it reads live also by what is read, so that the same line goes on
    in the same folder."""
    now_s = app.clock.now()
    if not options.reads_live:
        stamp = clock.stamp(now_s)
        return observation_folders.new(results, f"{stamp}-observed")
    asked = (
        options.exporter,
        options.device,
        options.last,
        options.profile,
        options.calibrate,
    )
    places: Sequence[str] = ()
    if options.profile:
        places = declaration.disk_places(plans.placed(app, options.profile))
    name = observation_folders.name_of(asked, places)
    length_s = units.parse_seconds(options.last)
    return observation_folders.of_live(results, name, length_s, now_s, app.progress)


# ------------------------------------------------------------------ what is read


@dataclass(frozen=True)
class _Readings:
    """Tables of readings; in words what could not be read, and what is to be known of them."""

    tables: Sequence[pd.DataFrame]
    misses: Sequence[str] = ()
    remarks: Sequence[str] = ()

    @property
    def devices(self) -> list[str]:
        names: set[str] = set()
        for table in self.tables:
            names |= set(table["device"])
        return sorted(names)


def _of_device(readings: _Readings, pattern: str) -> pd.DataFrame:
    """Those of devices that the whole pattern is of; all if it is empty."""
    named = re.compile(pattern or ".*")
    names = [name for name in readings.devices if named.fullmatch(name)]
    table = pd.concat(readings.tables)
    return table[table["device"].isin(names)]


def _no_such_disk(device: str, readings: _Readings) -> UsageError:
    names = units.listed(readings.devices)
    if not names:
        return UsageError(
            "no two readings of a disk follow each other, so nothing is known of any",
            "read for longer, or give files with more readings",
        )
    if not device:
        return UsageError(
            f"no reading of {names} is one that a disk can have done",
            "check how its counters were read: units, and sums or means",
        )
    return UsageError(
        f"there are no readings of {device}", f"there are some of {names}"
    )


def _read(app: App, options: Read, folder: Path) -> _Readings:
    """All that there are readings of: from files, of a server, and live."""
    length_s = units.parse_seconds(options.last)
    end_s = app.clock.now()
    pieces = pieces_in(options.calibrate)
    if pieces:
        _check_pieces(options, pieces, length_s)
    remarks: list[str] = []

    def remark(text: str) -> None:
        app.progress.warn(text)
        remarks.append(text)

    tables = [histories.read(file, remark) for file in options.file or ()]
    if options.prometheus:
        tables.append(_of_server(options.prometheus, options, end_s - length_s, end_s))
    misses: list[str] = []
    if options.reads_live:
        misses = _read_live(app, options, folder, length_s, pieces)
        if not observation_files.live(folder):
            raise _nothing_read(misses)
        tables.append(histories.read(folder))
    return _Readings(tables, misses, remarks)


def _check_something_is_read(options: Read) -> None:
    if not (options.file or options.prometheus or options.reads_live):
        raise UsageError(
            "there is nothing to observe",
            "give --file, --prometheus, --exporter or --profile: docs/OBSERVE.md has a "
            "recipe for each",
        )


def _nothing_read(misses: Sequence[str]) -> UnavailableError:
    return UnavailableError(
        f"nothing was read: {units.listed(misses)}",
        "check what is named and --device; the first reading of each disk must be "
        "whole, later ones may fail",
    )


def _check_pieces(options: Read, pieces: observing.Pieces, length_s: float) -> None:
    """UsageError where pieces have no effect: nothing is read live, or they take most of the
    time."""
    count, piece_s = pieces
    if not options.reads_live or count * piece_s > length_s / 4:
        raise UsageError(
            f"--calibrate {options.calibrate} has no effect here",
            "--calibrate goes with --exporter or --profile, and takes a quarter of --last "
            "at most; of what was read already, pieces are another --file",
        )


def _of_server(url: str, options: Read, begin_s: float, end_s: float) -> pd.DataFrame:
    device = options.device or ".+"
    try:
        headers = managed_prometheus.headers(os.environ, url)
        get = partial(http_client.get_history, headers=headers)
        return prometheus.read(url, options.match, device, begin_s, end_s, get)
    except OSError as error:
        advice = f"check --prometheus, --match, and {managed_prometheus.TOKEN}"
        raise UnavailableError(str(error), advice) from error


def _read_live(
    app: App,
    options: Read,
    folder: Path,
    length_s: float,
    pieces: observing.Pieces | None,
) -> list[str]:
    """Reads into the folder until the time is over; returns in words what failed."""
    with ExitStack() as up:
        watched = _watched(app, options, up)
        disks = list(observing.of_disks(watched.nodes, options.device))
        names = units.listed([disk.name for disk in disks])
        app.progress.note(
            f"reading {names} into {folder}; Ctrl-C ends it, and the same line goes on"
        )
        failed = observing.observe(
            folder,
            disks,
            length_s,
            app.clock,
            collectors.of_disks(
                watched.machines, observing.EXPORTER_PATH, http_client.get_exporter
            ),
            watched.machines,
            pieces,
            look=_Gaps(app, watched.beats).look,
        )
    misses = []
    for reason, count in failed.items():
        times = units.counted(count, "time")
        misses.append(f"{reason} ({times})")
    return misses


class _Gaps:
    """Says each reason why something cannot be read, once, and lets reading go on."""

    def __init__(self, app: App, beats: GuardBeats) -> None:
        self._app = app
        self._beats = beats
        self._warned: set[str] = set()

    def look(self, failed: Mapping[str, int]) -> None:
        """`failed`: what could not be read so far. Raises if the guard is lost."""
        # Then another campaign has removed the agents, and all would be gaps.
        self._beats.require()
        reasons = set()
        for text in failed:
            _node, _, reason = text.partition(": OSError: ")
            reasons.add(reason)
        for reason in reasons - self._warned - {""}:
            self._app.progress.warn(
                f"{reason}: a gap until it answers again; is it up, and the way there? "
                "Reading goes on"
            )
            self._warned.add(reason)


# ------------------------------------------------------------------ what is watched


@dataclass(frozen=True)
class _Watched:
    """Nodes to read, and the machines of those that no exporter shows.

    If those take an agent, other campaigns are kept off them with these signs of life."""

    nodes: Sequence[Node]
    machines: Sequence[powers.Machine] = ()
    beats: GuardBeats = field(default_factory=GuardBeats)


def _watched(app: App, options: Read, up: ExitStack) -> _Watched:
    """`up`: until it ends, what it takes on machines stays there."""
    nodes = []
    for url in options.exporter or ():
        nodes.append(Node(url, "database", sources={NODE_EXPORTER: url}))
    if options.profile is None:
        return _Watched(nodes)
    profile = plans.placed(app, options.profile)
    declared, mistakes = declaration.read(profile.cluster)
    database = app.parts(None).databases.get(profile.cluster.member)
    if isinstance(database, ExistingCluster):
        require_none(mistakes, f"{profile.name} has mistakes", "correct the profile")
        if declared.node_exporters:
            return _Watched([*nodes, *database.find_nodes(profile.cluster)])
    on_machines = _machines(app, profile, declared, up)
    sources = {DISK_DEVICE: " ".join(declared.devices)}
    for machine in on_machines.machines:
        name = machine.name
        nodes.append(Node(name, "host", machine=name, sources=sources))
    return replace(on_machines, nodes=nodes)


def _machines(
    app: App, profile: Profile, declared: declaration.Existing, up: ExitStack
) -> _Watched:
    """The machines of the nodes, which are yet to be named. UsageError if they are others'
    and elsewhere."""
    if profile.cluster.existing and _platform(profile) == PLATFORM:
        if _is_here(declared):
            return _Watched((), [LocalMachine()])
        raise UsageError(
            f"nothing shows the disks of the hosts of {profile.name}",
            "declare their `node_exporters` in its `cluster.existing`",
        )
    world = _world(app, profile)
    machines = world.platform.machines_of_nodes()
    if all(isinstance(machine, LocalMachine) for machine in machines):
        return _Watched((), machines)
    _bring_agent(app, world, up)
    return _Watched((), machines, world.platform.guard.beats)


def _platform(profile: Profile) -> str:
    return profile.platform or PLATFORM


def _is_here(declared: declaration.Existing) -> bool:
    """Whether all servers of a cluster that others run are on this machine."""
    servers = declared.servers
    return bool(servers) and all(server.is_loopback for server in servers)


def _world(app: App, profile: Profile) -> powers.World:
    """The profile's platform, connected to its nodes' machines and, on engines, no other."""
    placing = profile.placing
    if placing and placing.machines:  # nothing runs on an engine of clients
        placing = replace(placing, client_machine=placing.machines[0])
    world = app.world(_platform(profile), placing)
    world.platform.abilities.bring_only((agent.IMAGE,))
    return world


def _bring_agent(app: App, world: powers.World, up: ExitStack) -> None:
    """Keeps other campaigns off the machines until `up` ends. UnavailableError with how to get the
    agent's image, if it is not there."""
    up.enter_context(sweeping(world, world.platform.guard.held()))
    own_images.need(app.root, agent.IMAGE, world.platform)
