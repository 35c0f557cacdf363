"""`tierbench init`: a first profile and a first workload, with comments that explain their keys.

What a comment shows behind `#` can be taken as it is: it is a key with a value that works. Nothing
is overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from orchestrator.cli import completion
from orchestrator.cli.app import App
from orchestrator.cli.options import takes
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.keys import addresses

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_READ_AT = "laptop"  # a scale that every file has


@takes()
def init(
    app: App,
    name: Annotated[str | None, Argument(help="Name of the new profile.")] = None,
    changes: Annotated[
        list[str] | None, Argument(metavar="[KEY=VALUE]...", help="More keys of its tier.")
    ] = None,
    tier: Annotated[
        str | None, Option(help="A row, such as azure/P15.", autocompletion=completion.rows)
    ] = None,
    path: Annotated[
        str | None, Option(help="Where a real disk is mounted; {node}: one for each node.")
    ] = None,
    existing: Annotated[
        str | None, Option(metavar="HOST,...", help="Hosts of a cluster that others run.")
    ] = None,
    workload: Annotated[str | None, Option(help="Name of a new workload.")] = None,
) -> None:
    """Writes a first profile, or workload, with comments that explain its keys."""
    own, compared, texts = app.own or app.root, True, dict[Path, str]()
    for given in (name, workload):
        if given is not None and not _NAME.fullmatch(given):
            raise UsageError(
                f"{given!r} cannot be the name of a file here",
                advice="take letters, digits, `-`, `_` and `.`, such as my-disk",
            )
    if name is not None:
        hosts = existing or ""
        if "=" not in hosts and "://" not in hosts:  # libpq's own ways keep their commas
            hosts = hosts.replace(",", " ")
        text, compared = _profile(name, tier, changes or (), path, hosts, app)
        texts[own / "profiles" / f"{name}.yaml"] = text
    if workload is not None:
        text = _text("head", kind="workload") + _text("workload", name=workload)
        texts[own / "workloads" / f"{workload}.yaml"] = text
    if name is None and (tier, path, existing) != (None, None, None):
        raise UsageError("--tier, --path and --existing are of a profile: give its name")
    if not texts:
        raise UsageError("name a profile, or a --workload", advice="`tierbench init --help`")
    _write(texts, own)
    for file in texts:
        app.out.print(f"wrote {file.relative_to(own)}")
    load = workload or "tpcc"
    named = f"run --profile {name} --workload {load}"
    if compared:
        named = f'compare --profiles "{name or "premium"} ultra" --workloads {load}'
    app.out.print(f"next: tierbench {named} --dry-run", soft_wrap=True)


def _profile(
    name: str, row: str | None, changes: Sequence[str], path: str | None, hosts: str, app: App
) -> tuple[str, bool]:
    """The text of one on a `row` of the catalog, on the real disk at `path`, or of the cluster at
    `hosts` (a row and one of these: the disk that is there), with `changes` of its tier; and if its
    disk is emulated, as those shipped are. UsageError with every mistake."""
    from orchestrator.keys.tier_keys import NUMBER
    from orchestrator.planning import profiles, project_files
    from orchestrator.tier import Emulated

    if (path is not None and hosts) or not (row or path or hosts):
        raise UsageError(
            "say which disk: --tier ROW, --path PATH or --existing HOST,…",
            advice="--tier may stand beside one of the others; `tierbench tiers list` shows rows",
        )
    given = dict(map(project_files.key_and_value, changes))
    text = _text("head", kind="profile")
    text += _text("question", subject=row or path or "its own disk")
    text += "" if row else _text("title", name=name)
    text += "tier:\n" + (_text("row", row=row) if row else "")
    text += "".join(f"  {key}: {value}\n" for key, value in given.items())
    if path is not None:
        place = _text("each" if NUMBER in path else "shared", path=path)
        text += _text("mounted", place=place)
        text += "" if row or "iops" in given else _text("limits")
    if hosts:
        servers = addresses.read(hosts).servers
        text += _text(
            "existing",
            copies=max(1, min(3, len(servers))),
            hosts=hosts,
            exporters=" ".join(f"http://{server.host}:9100" for server in servers),
        )
    else:
        text += ("" if path else _text("emulated")) + _text("own_cluster")
    clusters, catalog = project_files.clusters(app.root), project_files.catalog(app.root)
    kinds = app.disk_kinds()
    read = profiles.read_profile(name, text, clusters, _READ_AT, catalog, mechanisms=kinds)
    return text, isinstance(read.tier.disk, Emulated)


def _text(part: str, **words: object) -> str:
    """A part of the file that lies beside this one, with the words in their places."""
    parts = (Path(__file__).parent / "init.txt").read_text().split("%% ")[1:]
    return dict(each.split("\n", 1) for each in parts)[part].format(**words)


def _write(texts: Mapping[Path, str], root: Path) -> None:
    for file in texts:
        if file.exists():
            raise UsageError(
                f"{file.relative_to(root)} is there already, and nothing is overwritten",
                advice="take another name",
            )
    for file, text in texts.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x") as stream:
                stream.write(text)
        except OSError as error:
            raise UnavailableError(f"{file} cannot be written: {error.strerror}") from error
