"""The commands under `tierbench tiers`: the catalog as tables, and disks of a running campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option
from typer.core import TyperGroup

from orchestrator import units
from orchestrator.cli.common import completion, console, forms, options
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.limit_words import limits_in, print_limits
from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.tier import Burst
    from orchestrator.tier_catalog.listing import TierRow, VmRow
    from orchestrator.tier_catalog.price_rows import PriceRow
    from orchestrator.tier_catalog.rows import DiskType, VmSize
    from orchestrator.tiers.common.emulated.running_disks import RunningDisk

_NONE = (
    "no row of the catalog matches; `tierbench tiers list`, without "
    "words and limits, shows all"
)
RateOption = Annotated[
    str | None, Option(callback=options.read_by(units.parse_bytes_per_s))
]
TimeOption = Annotated[
    str | None, Option(callback=options.read_by(units.parse_seconds))
]


class _ListingByDefault(TyperGroup):
    """`tiers` alone, or with options or words, lists; only a command's name is a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # A group takes its first word for a command, so `tiers premium` would be refused.
        if args and (args[0] in self.commands or args[0] == "--help"):
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, ["list", *args])


tiers = typer.Typer(
    cls=_ListingByDefault, help="Lists disk tiers; changes running disks."
)


@tiers.command(name="list")
@takes(shown_as=forms.OF_LISTS)
def show(
    app: App,
    text: Annotated[str, Argument()] = "",
    provider: Annotated[
        str | None, completion.among(("azure", "aws", "gcp"), "whose rows.")
    ] = None,
    min_iops: int | None = None,
    min_throughput: RateOption = None,
    max_latency: TimeOption = None,
    burst: bool | None = None,
    machines: Annotated[bool, Option("--vms")] = False,
) -> None:
    """Lists the catalog: disk tiers with their limits, or virtual machines with theirs."""
    from orchestrator import tier_catalog
    from orchestrator.planning import project_files

    rows = project_files.catalog(app.root)
    if machines:
        # --provider, --min-iops and words select machines too; these three do not.
        limits_of_disks = (min_throughput, max_latency, burst)
        if any(limit is not None for limit in limits_of_disks):
            raise UsageError(
                "--min-throughput, --max-latency and --burst select disks",
                advice="leave them out with --vms",
            )
        _show_vms(app, tier_catalog.vms(rows, provider, min_iops, text))
        return
    # The options were checked as they were read, and stayed texts.
    least_bytes_per_s = None
    if min_throughput:
        least_bytes_per_s = units.parse_bytes_per_s(min_throughput)
    most_s = None
    if max_latency:
        most_s = units.parse_seconds(max_latency)
    chosen = tier_catalog.tiers(
        rows, provider, min_iops, least_bytes_per_s, most_s, burst, text
    )
    _show_disks(app, chosen)


def _show_disks(app: App, rows: Sequence[TierRow]) -> None:
    facts = [_facts(row) for row in rows]
    names = [row.name for row in rows]
    app.out.show(facts, tier_table(rows), *_hint(rows), names=names)


def _show_vms(app: App, sizes: Sequence[VmRow]) -> None:
    names = [size.name for size in sizes]
    app.out.show(sizes, vm_table(sizes), *_hint(sizes), names=names)


def _hint(rows: Sequence[object]) -> list[str]:
    """What to say below a table of these rows."""
    if rows:
        return []
    return [_NONE]


@tiers.command(name="set")
@takes()
def change(
    app: App,
    run: Annotated[str, Argument(autocompletion=completion.runs)],
    limits: list[str],
    node: str | None = None,
    results: Path | None = None,
) -> None:
    """Changes limits of the emulated disks of the run that is going on, and records it."""
    changes = limits_in(limits)
    enforced = set_limits(app, run, changes, results or app.results, node)
    print_limits(changes, enforced, app)


def set_limits(
    app: App,
    run: str,
    limits: Mapping[str, float],
    results: Path,
    node: str | None = None,
) -> Mapping[str, float]:
    """Changes limits of the emulated disks of the run that is going on; returns what they enforce.

    `node`: of one disk, as `node-3`, or `node-3.wal` for that of its WAL; else of all that hold
    data. The change is written beside the run's raw files and becomes part of its record.
    UsageError if that run is not going on or has no such disks.
    """
    from orchestrator.system import store, unfinished_runs
    from orchestrator.tiers.common.emulated import (
        limit_changes,
        running_disks,
    )

    # A run that has ended has its limits in its record, which nothing may change.
    folder = unfinished_runs.unfinished_run(results, run)
    # A run's folder is CAMPAIGN/runs/RUN.
    campaign = store.load_without_tables(folder.parent.parent).plan
    world = app.world(campaign.platform, campaign.placing)
    # The guard of a campaign stands on the platform, wherever that was started.
    running = world.platform.guard.other()
    # A campaign that was killed leaves its run unfinished, but nobody keeps its guard.
    if running is None:
        raise UsageError(
            f"the campaign of {folder.name} is not running: no disk has limits to change",
            "start one; `tierbench tiers set` works while a run warms up or measures",
        )
    # Containers are found by their campaign's label, and this command has begun none.
    world.platform.campaign = running
    disks = _chosen(running_disks.find(world), node)
    if not disks:
        raise UsageError(
            f"{folder.name} has no emulated disk at this moment",
            "try again when it measures; only the limits of emulated disks can "
            "be changed",
        )
    # Limits are lifted while data are loaded, and set again by the run: a change now would be lost.
    # Where a user has set some already, "no limit" may be what was asked for.
    if not unfinished_runs.limit_changes(folder) and limit_changes.any_lifted(
        disks, world
    ):
        raise UsageError(
            f"the limits of {folder.name} are lifted at this moment, as nothing is measured",
            "try again in its warm-up or window",
        )

    def keep(disk: str, verb: str, changed: Mapping[str, float]) -> None:
        # Kept with its time, because figures of a window with two limits are of neither.
        change = {"time_s": world.clock.now(), "disk": disk, verb: dict(changed)}
        unfinished_runs.keep_limit_change(folder, change)

    return limit_changes.change_all(disks, limits, keep, world)


def _chosen(disks: Sequence[RunningDisk], node: str | None) -> tuple[str, ...]:
    """The containers of one disk, or of all that hold data. UsageError if others are there, and
    not that one."""
    chosen: list[str] = []
    names: list[str] = []
    for disk in disks:
        names.append(disk.name)
        is_meant = not disk.of_log
        if node is not None:
            is_meant = disk.name == node
        if is_meant:
            chosen.append(disk.container)
    if node is not None and disks and not chosen:
        raise UsageError(
            f"{node} has no emulated disk in this run",
            f"name one of {', '.join(names)}, or leave --node out for all that hold data",
        )
    return tuple(chosen)


_UNKNOWN = "–"
_ANY = "any"
_WHOLE = ("tier", "burst")  # columns of a disk that are never broken over lines


def _facts(row: TierRow) -> dict[str, Any]:
    """A row for other programs. A pair is the smallest and the largest that can be bought."""
    return {
        "name": row.name,
        "title": row.title,
        "size_bytes": row.size_bytes,
        "burst": row.burst,
        "price": row.price,
        "iops": row.iops,
        "bytes_per_s": row.bytes_per_s,
        "latency": row.kind.latency,
        "limits_as_of": row.kind.source.as_of,
    }


def tier_table(rows: Sequence[TierRow]) -> RenderableType:
    """One line a row; a pair is the smallest and the largest that can be bought. Below, once for
    all rows that share it: what the provider says of latency, and when figures were read."""
    columns = ("tier", "size", "IOPS", "throughput", "burst", "price")
    table = console.table(columns, _WHOLE)
    for row in rows:
        table.add_row(*_tier_cells(row))
    latencies = []
    for row in rows:
        if row.kind.latency:
            text = f"documented latency {row.kind.latency.documented}"
            latencies.append(_RowText(row.name, text))
    dated = [_Dated(row.name, row.kind, row.price) for row in rows]
    return Group(table, *_shared(latencies), *_dates(dated))


def _tier_cells(row: TierRow) -> Iterator[str]:
    yield row.name
    yield _span(row.size_bytes, units.format_bytes)
    yield _span(row.iops, units.format_number)
    yield _span(row.bytes_per_s, units.format_bytes_per_s)
    yield row.burst or _UNKNOWN
    yield _a_month(row.price)


class _RowText(NamedTuple):
    """Something to be said of a row."""

    row: str
    text: str


class _Dated(NamedTuple):
    """A row, and what says when its limits and its price were read."""

    row: str
    limits: DiskType | VmSize
    price: PriceRow | None


def _shared(texts: Iterable[_RowText]) -> Iterator[Text]:
    """Makes a line for each text, with the rows that share it."""
    by_text = units.gathered([(entry.text, entry.row) for entry in texts])
    for text, rows in by_text.items():
        # A machine with other caps for each kind of disk has several rows, and is named once.
        names = ", ".join(dict.fromkeys(rows))
        yield Text.assemble((names, "dim"), f": {text}")


def _dates(rows: Sequence[_Dated]) -> Iterator[Text]:
    """When limits and prices were read."""
    limits = []
    prices = []
    for name, disk, price in rows:
        limits.append(_RowText(name, f"limits as of {disk.source.as_of}"))
        if price:
            text = f"price: region {price.region}, {price.date}"
            prices.append(_RowText(name, text))
    yield from _shared(limits)
    yield from _shared(prices)


def vm_table(rows: Sequence[VmRow]) -> RenderableType:
    """Lists the caps that a virtual machine puts on its disks, without host cache, and its price. A
    column that tells nothing of any row is left out."""
    all_cells = [list(_vm_cells(row)) for row in rows]
    telling = _telling_places(all_cells)
    columns = [_VM_COLUMNS[place] for place in telling]
    table = console.table(columns, whole=set(columns) - {"burst"})
    for cells in all_cells:
        table.add_row(*[cells[place] for place in telling])
    dated = [_Dated(row.name, row.size, row.price) for row in rows]
    return Group(table, *_dates(dated))


def _telling_places(all_cells: Sequence[Sequence[str]]) -> list[int]:
    """The places of the columns that tell something of at least one row."""
    telling: list[int] = []
    for place in range(len(_VM_COLUMNS)):
        column = {cells[place] for cells in all_cells}
        if column - {_UNKNOWN, _ANY}:
            telling.append(place)
    return telling


_VM_COLUMNS = (
    "machine",
    "disk type",
    "vCPU",
    "disks",
    "IOPS",
    "throughput",
    "burst",
    "price",
)


def _vm_cells(row: VmRow) -> Iterator[str]:
    """The cells of `_VM_COLUMNS`."""
    yield row.name
    # Where all kinds of disks have the same caps, the row is for any.
    yield row.disk_type or _ANY
    yield _figure(row.size.vcpus)
    yield _figure(row.size.max_disks)
    yield _figure(row.limits.total_iops)
    yield _rate(row.limits.bytes_per_s)
    yield _peak(row.limits.burst)
    yield _price(row.price)


def _a_month(price: PriceRow | None) -> str:
    """What a disk costs a month. Machines are rented by the hour, and their prices say so."""
    if price is None:
        return _price(price)
    return f"{_price(price)} a month"


def _price(price: PriceRow | None) -> str:
    from orchestrator.tier_catalog import prices

    if price is None:
        return _UNKNOWN
    return prices.describe(price)


def _peak(burst: Burst | None) -> str:
    if burst is None:
        return _UNKNOWN
    return f"{_figure(burst.iops)} / {_rate(burst.bytes_per_s)}"


def _span(span: tuple[int | None, int | None], words: Callable[[float], str]) -> str:
    """The smallest and the largest, in `words`; None: the catalog has no such end."""
    smallest, largest = span
    if smallest is None and largest is None:
        return _UNKNOWN
    low = _UNKNOWN
    if smallest is not None:
        low = words(smallest)
    high = "no limit"
    if largest is not None:
        high = words(largest)
    # Compared in words: sizes that differ in no digit shown are one.
    if low == high:
        return low
    return f"{low} to {high}"


def _figure(
    value: int | None, words: Callable[[float], str] = units.format_number
) -> str:
    if value is None:
        return _UNKNOWN
    return words(value)


def _rate(bytes_per_s: int | None) -> str:
    return _figure(bytes_per_s, units.format_bytes_per_s)
