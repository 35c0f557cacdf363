"""The commands under `tierbench tiers`: the catalog, and the disks of a running campaign."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from orchestrator import units
from orchestrator.cli.app import App
from orchestrator.cli.disks import limits_in, print_limits
from orchestrator.cli.options import LimitsArgument, takes
from orchestrator.errors import UsageError

TextArgument = Annotated[str, typer.Argument(help="Words that must stand in the name or title.")]
ProviderOption = Annotated[str | None, typer.Option(help="azure, aws or gcp.")]
MinIopsOption = Annotated[int | None, typer.Option(help="Can be had with at least this many IOPS.")]
MinThroughputOption = Annotated[str | None, typer.Option(help="At least, such as 200MB/s.")]
MaxLatencyOption = Annotated[str | None, typer.Option(help="Documented, at most, such as 1ms.")]
BurstOption = Annotated[bool | None, typer.Option(help="Only tiers with (or without) burst.")]
MachinesOption = Annotated[bool, typer.Option("--vms", help="Virtual machines, not disks.")]
RunArgument = Annotated[str, typer.Argument(help="A run's folder name, or latest.")]
ResultsOption = Annotated[Path | None, typer.Option(help="Where results are kept.")]


class _ListingByDefault(TyperGroup):
    """`tiers` alone, or with options or words, lists; only a command's name is a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {*self.commands, "--help"}
        return super().parse_args(ctx, args if args and args[0] in known else ["list", *args])


tiers = typer.Typer(cls=_ListingByDefault, help="Lists disk tiers; changes running disks.")


@tiers.command(name="list")
@takes()
def show(
    app: App,
    text: TextArgument = "",
    provider: ProviderOption = None,
    min_iops: MinIopsOption = None,
    min_throughput: MinThroughputOption = None,
    max_latency: MaxLatencyOption = None,
    burst: BurstOption = None,
    machines: MachinesOption = False,
) -> None:
    """Lists the catalog: disk tiers with their limits, or virtual machines with theirs."""
    from orchestrator import tier_catalog
    from orchestrator.cli import tier_listing
    from orchestrator.planning import project_files

    rows = project_files.catalog(app.root)
    if machines and (min_throughput, max_latency, burst) != (None, None, None):
        raise UsageError("--min-throughput, --max-latency and --burst choose disks, not --vms")
    if machines:
        app.out.print(tier_listing.vm_table(tier_catalog.vms(rows, provider, min_iops, text)))
        return
    least = _quantity(units.parse_bytes_per_s, min_throughput)
    most = _quantity(units.parse_seconds, max_latency)
    found = tier_catalog.tiers(rows, provider, min_iops, least, most, burst, text)
    app.out.print(tier_listing.tier_table(found))


@tiers.command(name="set")
@takes()
def change(
    app: App, run: RunArgument, limits: LimitsArgument, results: ResultsOption = None
) -> None:
    """Changes limits of the emulated disks of the run that is going on, and records it."""
    from orchestrator.cli import campaign

    changes = limits_in(limits)
    enforced = campaign.set_limits(app, run, changes, results or app.results)
    print_limits(changes, enforced, app)


def _quantity(parse: Callable[[object], float], text: str | None) -> Any:
    """Parses an option; None if it was not given. UsageError with the parser's own text."""
    try:
        return None if text is None else parse(text)
    except ValueError as error:
        raise UsageError(str(error)) from error
