"""`tierbench observe`: which disks would have carried what a running cluster asked of its own."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from orchestrator import report, units
from orchestrator.cli import RESULTS
from orchestrator.cli.common import documents, forms
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.options import ResultsOption
from orchestrator.cli.measure import platform_choice
from orchestrator.cli.prepare import init
from orchestrator.databases.existing import declaration
from orchestrator.errors import NotWrittenError, UsageError
from orchestrator.extensions.observe import (
    memory,
    observation_folders,
    observation_results,
)
from orchestrator.extensions.observe.candidates import Purchase, purchases
from orchestrator.extensions.observe.commands import (
    addresses,
    observe_readings,
    seconds,
    stripes,
)
from orchestrator.extensions.observe.commands.observe_options import Read
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
)
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.extensions.observe.page.observed import document
from orchestrator.model import Profile
from orchestrator.planning import named_tiers, project_files
from orchestrator.report.blocks import Document
from orchestrator.system import clock
from orchestrator.tier import Limits
from orchestrator.tier_catalog.catalog import Catalog


@takes(Read, shown_as=forms.OF_ANSWERS)
def observe(app: App, options: Read, results: ResultsOption = RESULTS) -> None:
    """Replays what a running cluster asked of its disks against all disks of the catalog; loads
    nothing."""
    _check_something_is_read(options)
    addresses.check(options.exporter or (), options.prometheus)
    catalog = project_files.catalog(app.root)
    source = _source_limits(app, options)
    size_bytes = _size_bytes(app, options)
    # This refuses a region or a machine now, and not after a week of readings.
    _offers(catalog, options, size_bytes, ())
    with _folder(app, options, results) as folder:
        _observe(_ObserveRequest(app, options, folder, source, size_bytes, catalog))


@dataclass(frozen=True)
class _ObserveRequest:
    """What is asked: `options`, to be kept in `folder`; of disks of the catalog that hold
    `size_bytes`. source: the limits of each observed device, if they are known."""

    app: App
    options: Read
    folder: Path
    source: Limits | None
    size_bytes: int
    catalog: Catalog


@dataclass(frozen=True)
class _Demands:
    """What was read of each disk.

    misses, remarks: as of `ObservedReadings`. not_kept: why the readings could not be written,
    which is said when the answer was shown."""

    disks: Sequence[Demand]
    misses: Sequence[str]
    remarks: Sequence[str]
    not_kept: NotWrittenError | None


@dataclass(frozen=True)
class _Judged:
    """What is told of readings, without them: their memory is wanted for the charts.

    hour: the busiest one. The others are as of `_Demands`."""

    observed: AnsweredObservation
    hour: Mapping[str, float]
    misses: Sequence[str]
    remarks: Sequence[str]
    not_kept: NotWrittenError | None


def _observe(request: _ObserveRequest) -> None:
    """Reads into the folder, judges what was read there, and shows it."""
    judged = _judged(request)
    # Readings of a week take hundreds of MB, and charts are drawn next.
    memory.give_back()
    observed = judged.observed
    given = {name: value for name, value in asdict(request.options).items() if value}
    following = observation_results.next_campaign(
        request.folder, observed, init.CLUSTERS
    )
    page = document(
        observed,
        following.command,
        judged.misses,
        seconds.command(given, observed.disks),
        judged.remarks,
    )
    # The answer is shown before anything is written: a full disk must not hide a week's answer.
    _show(request, observed, page)
    if judged.not_kept is not None:
        # The answer has been shown. What follows is written beside the readings, which are not
        # there.
        raise judged.not_kept
    texts = {**following.texts, **report.files_of(page, request.app.cache)}
    observation_results.write(
        request.folder, observed, judged.hour, given, texts, page.brief
    )
    request.app.out.add(str(request.folder / report.PAGE))


def _show(
    request: _ObserveRequest, observed: AnsweredObservation, page: Document
) -> None:
    rows = [observation_results.row(answer) for answer in observed.answers]
    content = {
        "folder": request.folder,
        "brief": page.brief,
        "status": page.status,
        "answers": rows,
    }
    documents.show(request.app, content, page)


def _judged(request: _ObserveRequest) -> _Judged:
    """Reads, and judges what was read."""
    options = request.options
    read = _read(request)
    memory.give_back()
    # --at-cap is in % of the time; shares are judged from 0 to 1.
    observed = Observed.of(read.disks, options.at_cap / 100, request.source)
    offers = _offers(request.catalog, options, request.size_bytes, observed.needs)
    hour = observation_results.busiest_hour(read.disks)
    answered = observed.against(offers)
    return _Judged(answered, hour, read.misses, read.remarks, read.not_kept)


def _read(request: _ObserveRequest) -> _Demands:
    """Reads, and keeps what was read. UsageError if there is no such disk."""
    options = request.options
    readings = observe_readings.read(request.app, options, request.folder)
    memory.give_back()
    chosen = observe_readings.of_device(readings, options.device)
    disks = demands(chosen, request.source)
    if not disks:
        raise observe_readings.no_such_disk(options.device, readings)
    if options.striped:
        disks = stripes.summed(disks, options.device)
    not_kept = None
    memory.give_back()
    try:
        observation_results.keep_readings(request.folder, chosen)
    except NotWrittenError as error:
        not_kept = error
    return _Demands(disks, readings.misses, readings.remarks, not_kept)


def _source_limits(app: App, options: Read) -> Limits | None:
    """The limits of each observed device, if a row of the catalog is named for it."""
    if not options.source:
        return None
    tier, _holds_bytes = named_tiers.bought(app.root, options.source)
    if tier.wal is not None:
        raise UsageError(
            f"--source {options.source} is of two disks, and one device was read",
            "name one disk: --source without wal",
        )
    # --source has the limits of each device; a row with a count has those of a whole stripe.
    if options.striped and tier.count > 1:
        raise UsageError(
            f"--source {options.source} is a stripe already, but --striped sums "
            "single devices",
            "name one device: --source without count",
        )
    return tier.limits


def _size_bytes(app: App, options: Read) -> int:
    """What a disk in the place of each observed one has to hold. UsageError if nobody says it:
    counters of a disk do not tell it, and no default would be near."""
    if options.size is not None:
        return units.parse_size(options.size)
    if options.profile is not None:
        profile = platform_choice.placed(app, options.profile)
        size_bytes = _bytes_of_its_disk(profile, options.striped)
        # A profile of a mounted disk may not say how large that is.
        if size_bytes:
            size = units.format_bytes(size_bytes)
            app.progress.note(f"each disk must hold {size}, as that of {profile.name}")
            return size_bytes
    raise UsageError(
        "the disk size that is needed is not known, because counters do not show it",
        "give what each disk holds, or will hold: --size 250GiB",
    )


def _bytes_of_its_disk(profile: Profile, is_striped: bool) -> int:
    """The bytes of one of its disks, or of all disks of a node that are one stripe; 0 if not
    known."""
    disk_bytes = profile.tier.origin.size_bytes or 0
    # The catalog's size is of each disk; a stripe holds what all of them hold.
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
    # Files and servers are read in one go, so no folder is gone on with.
    if not options.reads_live:
        stamp = clock.stamp(now_s)
        return observation_folders.new(results, f"{stamp}-observed")
    # Options that decide which readings are taken. How they are judged may differ from call to
    # call.
    asked = (
        options.exporter,
        options.device,
        options.last,
        options.profile,
        options.calibrate,
    )
    places: Sequence[str] = ()
    if options.profile:
        # A profile of the same name may name other disks by the next call.
        places = declaration.disk_places(platform_choice.placed(app, options.profile))
    name = observation_folders.name_of(asked, places)
    length_s = units.parse_seconds(options.last)
    return observation_folders.of_live(results, name, length_s, now_s, app.progress)


def _check_something_is_read(options: Read) -> None:
    if not (options.file or options.prometheus or options.reads_live):
        raise UsageError(
            "there is nothing to observe",
            "give --file, --prometheus, --exporter or --profile: docs/OBSERVE.md has a "
            "recipe for each",
        )
