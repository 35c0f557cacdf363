"""What a shell completes: names of files, of rows and of campaigns. Nothing heavy is imported for
it, because a person waits for the word."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from typer import Context, Option

from orchestrator.cli import CACHE, RESULTS, root


def completing(known: Callable[[Context], Iterable[str]]) -> Callable[..., list[str]]:
    """A callback of typer: what is typed so far → what it may become, also the last of several."""

    def complete(ctx: Context, incomplete: str) -> list[str]:
        *given, begun = re.split(r"[\s,]", incomplete)
        before = incomplete.removesuffix(begun)
        return [
            before + n for n in known(ctx) if n.startswith(begun) and n not in given
        ]

    return complete


def among(names: str, what: str, *declared: str, **more: Any) -> Any:
    """An option of typer whose help says the names that it may have; these are completed."""
    known = names.split(", ")
    return Option(
        *declared,
        help=f"{names}: {what}",
        autocompletion=completing(lambda _: known),
        **more,
    )


def _files(folder: str) -> Callable[..., list[str]]:
    return completing(
        lambda _: sorted(file.stem for file in (root() / folder).glob("*.yaml"))
    )


def _rows(_: Context) -> Iterator[str]:
    """Types and sizes of the catalog by how its files are indented, as YAML takes a second."""
    for file in sorted((root() / "profiles/catalog").glob("*.yaml")):
        types = file.read_text().partition("\ntypes:\n")[2]
        for kind, sizes in re.findall(
            r"^  (\w[\w.-]*):\n((?:    .*\n|\n)*)", types, re.M
        ):
            own = re.findall(
                r"^      (\w[\w.-]*):", sizes.partition("    sizes:\n")[2], re.M
            )
            yield from (f"{file.stem}/{name}" for name in (kind, *own))


def _campaigns(ctx: Context) -> Iterable[str]:
    """Folders, the newest first, and names of baselines."""
    return dict.fromkeys(
        ["latest", *(folder.name for folder in _folders(ctx)), *_baselines(ctx)]
    )


def _unfinished(ctx: Context) -> Iterator[str]:
    """The run of the newest campaign that has no record."""
    yield "latest"
    for campaign in _folders(ctx)[:1]:
        runs = sorted((campaign / "runs").glob("*/"))
        yield from (run.name for run in runs if not (run / "record.json").exists())


def _folders(ctx: Context) -> list[Path]:
    results = Path(ctx.params.get("results") or RESULTS)
    return sorted((file.parent for file in results.glob("*/plan.json")), reverse=True)


def _baselines(ctx: Context) -> Iterable[str]:
    saved = Path(ctx.params.get("results") or RESULTS) / "baselines.json"
    with suppress(OSError, ValueError, LookupError, TypeError):
        return [*json.loads(saved.read_text())["baselines"]]
    return []


def _disks(_: Context) -> list[str]:
    """Standing disks by the files of their data, as asking the engine takes seconds."""
    return sorted(file.stem for file in (CACHE / "standing").glob("*.img"))


profiles = _files("profiles")
workloads = _files("workloads")
rows, campaigns, baselines = map(completing, (_rows, _campaigns, _baselines))
runs = completing(_unfinished)
disks = completing(_disks)
