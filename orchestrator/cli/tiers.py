"""The commands under `tierbench tiers`: the catalog, and the disks of a running campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from orchestrator import units
from orchestrator.errors import UsageError
from orchestrator.powers import Progress

TextArgument = Annotated[str, typer.Argument(help="Words that must stand in the name or title.")]
ProviderOption = Annotated[str | None, typer.Option(help="azure, aws or gcp.")]
MinIopsOption = Annotated[int | None, typer.Option(help="Can be had with at least this many IOPS.")]
MinThroughputOption = Annotated[str | None, typer.Option(help="At least, such as 200MB/s.")]
MaxLatencyOption = Annotated[str | None, typer.Option(help="Documented, at most, such as 1ms.")]
BurstOption = Annotated[bool | None, typer.Option(help="Only tiers with (or without) burst.")]
MachinesOption = Annotated[bool, typer.Option("--vms", help="Virtual machines, not disks.")]
RunArgument = Annotated[str, typer.Argument(help="A run's folder name, or latest.")]
LimitsArgument = Annotated[list[str], typer.Argument(help="Such as iops=4000 bytes_per_s=1e8.")]
ResultsOption = Annotated[Path | None, typer.Option(help="Where results are kept.")]


class _ListingByDefault(TyperGroup):
    """`tiers` alone, or with options or words, lists; only a command's name is a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {*self.commands, "--help"}
        return super().parse_args(ctx, args if args and args[0] in known else ["list", *args])


def tiers_app(
    root: Path, cache: Path, default_results: Path, out: Console, progress: Progress
) -> Any:
    """The commands, for the program's own folders and console."""
    app = typer.Typer(cls=_ListingByDefault, help="Lists disk tiers; changes running disks.")

    @app.command(name="list")
    def show(
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

        rows = project_files.catalog(root)
        if machines and (min_throughput, max_latency, burst) != (None, None, None):
            raise UsageError("--min-throughput, --max-latency and --burst choose disks, not --vms")
        if machines:
            out.print(tier_listing.vm_table(tier_catalog.vms(rows, provider, min_iops, text)))
            return
        least = _quantity(units.parse_bytes_per_s, min_throughput)
        most = _quantity(units.parse_seconds, max_latency)
        tiers = tier_catalog.tiers(rows, provider, min_iops, least, most, burst, text)
        out.print(tier_listing.tier_table(tiers))

    @app.command(name="set")
    def change(run: RunArgument, limits: LimitsArgument, results: ResultsOption = None) -> None:
        """Changes limits of the emulated disks of the run that is going on, and records it."""
        from orchestrator.cli import campaign

        changes, folder = limits_in(limits), results or default_results
        enforced = campaign.set_limits(run, changes, root, cache, folder, progress)
        for name, value in changes.items():
            out.print(f"{name} = {enforced.get(name, value):.15g}", highlight=False)

    return app


def limits_in(words: Sequence[str]) -> dict[str, float]:
    """`name=number` words → limits. UsageError for a word that is not one."""
    return dict(_limit(text) for text in words)


def _limit(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError as error:
        what = f"{text!r} is not name=number" if equals else f"{text!r} has no value"
        raise UsageError(what, advice="for example `iops=4000 bytes_per_s=1e8`") from error


def _quantity(parse: Callable[[object], float], text: str | None) -> Any:
    """Parses an option; None if it was not given. UsageError with the parser's own text."""
    try:
        return None if text is None else parse(text)
    except ValueError as error:
        raise UsageError(str(error)) from error
