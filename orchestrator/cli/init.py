"""`tierbench init`: a first profile and a first workload, to be changed. It never overwrites."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Argument, Option

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.planning import first_files, json_schema, profiles, project_files
from orchestrator.tier import Emulated

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_READ_AT = "laptop"  # a scale that every file has


def command(root: Path, out: Console) -> Callable[..., None]:
    """The command, for the program's own folder and console."""

    def init(
        name: Annotated[str | None, Argument(help="Name of the new profile.")] = None,
        changes: Annotated[
            list[str] | None, Argument(metavar="[KEY=VALUE]...", help="More keys of its tier.")
        ] = None,
        tier: Annotated[str | None, Option(help="A row of the catalog, such as azure/P15.")] = None,
        path: Annotated[
            str | None, Option(help="Where a real disk is mounted; {node}: one for each node.")
        ] = None,
        existing: Annotated[
            str | None, Option(metavar="HOST,...", help="Hosts of a cluster that others run.")
        ] = None,
        workload: Annotated[str | None, Option(help="Name of a new workload.")] = None,
    ) -> None:
        """Writes a first profile, or workload, with comments that explain its keys."""
        texts: dict[Path, str] = {}
        compared = True
        if name is not None:
            text, compared = _profile(name, tier, changes or (), path, _hosts(existing), root)
            texts[root / "profiles" / f"{name}.yaml"] = text
        if workload is not None:
            _check_name(workload)
            text = first_files.workload(workload, json_schema.FOLDER)
            texts[root / "workloads" / f"{workload}.yaml"] = text
        if name is None and (tier, path, existing) != (None, None, None):
            raise UsageError("--tier, --path and --existing are of a profile: give its name")
        if not texts:
            raise UsageError("name a profile, or a --workload", advice="`tierbench init --help`")
        _write(texts, root)
        for file in texts:
            out.print(f"wrote {file.relative_to(root)}", highlight=False)
        load = workload or "tpcc"
        named = f"run --profile {name} --workload {load}"
        if compared:
            named = f'compare --profiles "{name or "premium"} ultra" --workloads {load}'
        out.print(f"next: tierbench {named} --dry-run", highlight=False, soft_wrap=True)

    return init


def _hosts(given: str | None) -> str:
    """As a profile has them: separated by spaces, unless libpq's own way of naming them is used."""
    text = given or ""
    return text if "=" in text or "://" in text else text.replace(",", " ")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a file here",
            advice="take letters, digits, `-`, `_` and `.`, such as my-disk",
        )


def _profile(
    name: str, row: str | None, changes: Sequence[str], path: str | None, hosts: str, root: Path
) -> tuple[str, bool]:
    """The text, which was read as profiles are, and whether its disk is emulated, as those of the
    shipped profiles are. UsageError with every mistake."""
    from orchestrator.cli import plans

    _check_name(name)
    if (path is not None and hosts) or not (row or path or hosts):
        raise UsageError(
            "say which disk: --tier ROW, --path PATH or --existing HOST,…",
            advice="--tier may stand beside one of the others; `tierbench tiers list` shows rows",
        )
    given = dict(map(project_files.key_and_value, changes))
    text = first_files.profile(name, row, given, path, hosts, json_schema.FOLDER)
    clusters, catalog = project_files.clusters(root), project_files.catalog(root)
    kinds = plans.disk_kinds()
    read = profiles.read_profile(name, text, clusters, _READ_AT, catalog, mechanisms=kinds)
    return text, isinstance(read.tier.disk, Emulated)


def _write(texts: Mapping[Path, str], root: Path) -> None:
    for file in texts:
        if file.exists():
            raise UsageError(
                f"{file.relative_to(root)} is there already, and nothing is overwritten",
                advice="take another name",
            )
    for file, text in texts.items():
        try:
            with file.open("x") as made:
                made.write(text)
        except OSError as error:
            raise UnavailableError(f"{file} cannot be written: {error.strerror}") from error
