"""The commands under `tierbench tiers`: the catalog as tables, and disks of a running campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option
from typer.core import TyperGroup

from orchestrator import units
from orchestrator.cli import completion, console, options
from orchestrator.cli.app import App
from orchestrator.cli.disks import limits_in, print_limits
from orchestrator.errors import UsageError
from orchestrator.keys.messages import failure

if TYPE_CHECKING:
    from orchestrator.tier import Burst
    from orchestrator.tier_catalog.catalog import TierRow, VmRow
    from orchestrator.tier_catalog.rows import DiskType, PriceRow, VmSize

_NONE = "the catalog has none such; `tierbench tiers list`, without words and limits, shows all"
RateOption = Annotated[
    str | None, Option(callback=options.read_by(units.parse_bytes_per_s))
]
TimeOption = Annotated[
    str | None, Option(callback=options.read_by(units.parse_seconds))
]


class _ListingByDefault(TyperGroup):
    """`tiers` alone, or with options or words, lists; only a command's name is a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {*self.commands, "--help"}
        return super().parse_args(
            ctx, args if args and args[0] in known else ["list", *args]
        )


tiers = typer.Typer(
    cls=_ListingByDefault, help="Lists disk tiers; changes running disks."
)


@tiers.command(name="list")
@options.takes(in_json=True)
def show(
    app: App,
    text: Annotated[str, Argument()] = "",
    provider: Annotated[
        str | None, completion.among("azure, aws, gcp", "whose rows.")
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
    if machines and (min_throughput, max_latency, burst) != (None, None, None):
        raise UsageError(
            "--min-throughput, --max-latency and --burst choose disks, not --vms"
        )
    if machines:
        sizes = tier_catalog.vms(rows, provider, min_iops, text)
        app.out.show(sizes, vm_table(sizes), *([] if sizes else [_NONE]))
        return
    least = None
    if min_throughput:
        least = units.parse_bytes_per_s(min_throughput)
    most = None
    if max_latency:
        most = units.parse_seconds(max_latency)
    chosen = tier_catalog.tiers(rows, provider, min_iops, least, most, burst, text)
    app.out.show(
        list(map(_facts, chosen)), tier_table(chosen), *([] if chosen else [_NONE])
    )


@tiers.command(name="set")
@options.takes()
def change(
    app: App,
    run: Annotated[str, Argument(autocompletion=completion.runs)],
    limits: list[str],
    results: Path | None = None,
) -> None:
    """Changes limits of the emulated disks of the run that is going on, and records it."""
    changes = limits_in(limits)
    print_limits(changes, set_limits(app, run, changes, results or app.results), app)


def set_limits(
    app: App, run: str, limits: Mapping[str, float], results: Path
) -> Mapping[str, float]:
    """Changes limits of the emulated disks of the run that is going on; returns what they enforce.
    The change is written beside the run's raw files and becomes part of its record. UsageError if
    that run is not going on or has no such disks."""
    from orchestrator.system import store
    from orchestrator.tiers import emulated
    from orchestrator.tiers.common.emulated import disk_server

    folder = store.unfinished_run(results, run)
    campaign = store.load(folder.parent.parent, tables=False).plan
    world = app.world(campaign.platform, campaign.placing)
    running = world.platform.guard.other()
    if running is None:
        raise failure(UsageError, "not running", run=folder.name)
    world.platform.campaign = (
        running  # its containers are looked for, where it has its own
    )
    disks = disk_server.running_disks(world)
    if not disks:
        raise failure(UsageError, "no emulated disk", run=folder.name)
    if not store.limit_changes(folder) and emulated.any_lifted(disks, world):
        raise failure(UsageError, "limits are lifted", run=folder.name)

    def keep(disk: str, verb: str, changed: Mapping[str, float]) -> None:
        change = {"time_s": world.clock.now(), "disk": disk, verb: dict(changed)}
        store.keep_limit_change(folder, change)

    return emulated.change_all(disks, limits, keep, world)


_UNKNOWN = "–"
_ANY = "any"
_WHOLE = ("tier", "burst")  # of a disk; never broken over lines


def _facts(row: TierRow) -> dict[str, Any]:
    """For other programs; a pair is the smallest and the largest that can be bought."""
    rates = {"iops": row.iops, "bytes_per_s": row.bytes_per_s}
    own = {
        name: getattr(row, name)
        for name in ("name", "title", "size_bytes", "burst", "price")
    }
    return {
        **own,
        **rates,
        "latency": row.kind.latency,
        "limits_as_of": row.kind.source.as_of,
    }


def tier_table(rows: Sequence[TierRow]) -> RenderableType:
    """One line a row; a pair is the smallest and the largest that can be bought. Below, once for
    all rows that share it: what the provider says of latency, and when figures were read."""
    from orchestrator.tier_catalog import prices

    table = console.table(
        ("tier", "size", "IOPS", "throughput", "burst", "price"), _WHOLE
    )
    for row in rows:
        table.add_row(
            row.name,
            _span(row.size_bytes, units.format_bytes),
            _span(row.iops, units.format_number),
            _span(row.bytes_per_s, units.format_bytes_per_s),
            row.burst or _UNKNOWN,
            prices.describe(row.price) if row.price else _UNKNOWN,
        )
    latencies = _shared(
        (
            row.kind.latency and f"documented latency {row.kind.latency.documented}",
            row.name,
        )
        for row in rows
    )
    return Group(
        table, *latencies, *_dates([(row.name, row.kind, row.price) for row in rows])
    )


def _shared(texts: Iterable[tuple[object, str]]) -> Iterator[Text]:
    """Makes a line for each text, with the rows that share it; of pairs of a text and a row."""
    for text, names in units.gathered(
        (str(text), name) for text, name in texts if text
    ).items():
        yield Text.assemble((", ".join(dict.fromkeys(names)), "dim"), f": {text}")


def _dates(
    rows: Sequence[tuple[str, DiskType | VmSize, PriceRow | None]],
) -> Iterator[Text]:
    """When limits and prices were read."""
    yield from _shared(
        (f"limits as of {of.source.as_of}", name) for name, of, _ in rows
    )
    prices = ((name, price) for name, _, price in rows if price)
    yield from _shared(
        (f"price: region {p.region}, {p.date}", name) for name, p in prices
    )


def vm_table(rows: Sequence[VmRow]) -> RenderableType:
    """Lists the caps that a virtual machine puts on its disks, without host cache, and its price. A
    column that tells nothing of any row is left out."""
    from orchestrator.tier_catalog import prices

    columns = {
        "machine": [row.name for row in rows],
        "disk type": [row.disk_type or _ANY for row in rows],
        "vCPU": [_figure(row.size.vcpus) for row in rows],
        "disks": [_figure(row.size.max_disks) for row in rows],
        "IOPS": [_figure(row.limits.total_iops) for row in rows],
        "throughput": [
            _figure(row.limits.bytes_per_s, units.format_bytes_per_s) for row in rows
        ],
        "burst": [_peak(row.limits.burst) for row in rows],
        "price": [
            prices.describe(row.price) if row.price else _UNKNOWN for row in rows
        ],
    }
    told = {
        name: cells for name, cells in columns.items() if {*cells} - {_UNKNOWN, _ANY}
    }
    table = console.table(
        list(told), {*told} - {"burst"}, rows=zip(*told.values(), strict=True)
    )
    return Group(table, *_dates([(row.name, row.size, row.price) for row in rows]))


def _peak(burst: Burst | None) -> str:
    if burst is None:
        return _UNKNOWN
    return f"{_figure(burst.iops)} / {_figure(burst.bytes_per_s, units.format_bytes_per_s)}"


def _span(span: tuple[int | None, int | None], words: Callable[[float], str]) -> str:
    low, high = (None if end is None else words(end) for end in span)
    if low is None and high is None:
        return _UNKNOWN
    if low == high:
        return str(low)
    return f"{low or _UNKNOWN} to {high or 'no limit'}"


def _figure(
    value: int | None, words: Callable[[float], str] = units.format_number
) -> str:
    return _span((value, value), words)
