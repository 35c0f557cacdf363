"""`tierbench init`: a first profile and a first workload, with comments that explain their keys.

What a comment shows behind `#` can be taken as it is: it is a key with a value that works. Nothing
is overwritten.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from orchestrator.cli import completion
from orchestrator.cli.app import App
from orchestrator.cli.options import names_in, takes
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.keys import addresses
from orchestrator.keys.messages import failure
from orchestrator.units import listed

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_READ_AT = "laptop"  # a scale that every file has


CLUSTERS = {"azure": "azure-d8s-v5", "aws": "aws-r5b-2xlarge", "gcp": "gcp-n2-standard-8"}


@dataclass(frozen=True)
class Wanted:
    """Which disk, on which machines."""

    tier: Annotated[str | None, Option(autocompletion=completion.rows)] = None
    path: str | None = None
    storage_class: str | None = None
    existing: Annotated[str | None, Option(metavar="HOST,...")] = None
    machines: Annotated[str, Option(metavar="ENGINE,...")] = ""
    client_machine: Annotated[str | None, Option("--client-machine", metavar="ENGINE")] = None
    cluster: str | None = None
    vm: str | None = None

    @property
    def hosts(self) -> str:
        """As a profile has them: libpq's own ways keep their commas."""
        hosts = self.existing or ""
        return hosts if "=" in hosts or "://" in hosts else hosts.replace(",", " ")


@takes(Wanted)
def init(
    app: App,
    options: Wanted,
    name: Annotated[str | None, Argument()] = None,
    changes: Annotated[list[str] | None, Argument(metavar="[KEY=VALUE]...")] = None,
    workload: str | None = None,
) -> None:
    """Writes a first profile, or workload, with comments that explain its keys."""
    own, compared, texts = app.own or app.root, True, dict[Path, str]()
    for given in (name, workload):
        if given is not None and not _NAME.fullmatch(given):
            raise failure(UsageError, "bad name of a file", given=given)
    if name is not None:
        text, compared = _profile(name, changes or (), options, app)
        texts[own / "profiles" / f"{name}.yaml"] = text
    if workload is not None:
        text = _section("head", kind="workload") + _section("workload", name=workload)
        texts[own / "workloads" / f"{workload}.yaml"] = text
    if name is None and (
        asked := [f"--{key.replace('_', '-')}" for key, of in vars(options).items() if of]
    ):
        raise UsageError(f"{listed(asked)} say what a profile is: give its name")
    if not texts:
        raise UsageError("name a profile, or a --workload", advice="`tierbench init --help`")
    _write(texts, own)
    for file in texts:
        shown = file.relative_to(own) if own.samefile(Path.cwd()) else file
        app.out.print(f"wrote {shown}", soft_wrap=True)
    load = workload or "tpcc"
    named = f"run --profile {name} --workload {load}"
    if compared:
        named = f'compare --profiles "{name or "premium"} ultra" --workloads {load}'
    app.out.print(f"next: tierbench {named} --dry-run", soft_wrap=True)


def _profile(name: str, changes: Sequence[str], wanted: Wanted, app: App) -> tuple[str, bool]:
    """The text of the profile, with `changes` of its tier; and if its disk is emulated on this
    machine, as those shipped are. UsageError with every mistake."""
    from orchestrator.planning import profiles, project_files
    from orchestrator.tier import Emulated

    places = (wanted.path, wanted.storage_class, wanted.hosts)
    if sum(map(bool, places)) > 1 or not (wanted.tier or any(places)):
        raise failure(UsageError, "which disk")
    if wanted.hosts and (wanted.cluster or wanted.vm):
        raise failure(UsageError, "nodes of its own")
    given = dict(map(project_files.key_and_value, changes))
    row, text = wanted.tier, _section("head", kind="profile")
    text += _section("question", subject=row or next(filter(None, places[:2]), "its own disk"))
    if row is None:
        text += f"# The tier's name in tables.\ntitle: {name}\n"
    text += "tier:\n" if row is None else f"tier:\n{_section('row', row=row)}"
    text += "".join(f"  {key}: {value}\n" for key, value in given.items())
    text += _disk(wanted, "iops" in given)
    if not wanted.hosts:
        text += _cluster(wanted, app)
    if engines := names_in(wanted.machines):
        text += _section("machines", machines=", ".join(engines))
    if wanted.client_machine:
        text += _section("client", client_machine=wanted.client_machine)
    if wanted.storage_class:
        text += _section("kubernetes")
    clusters, catalog = project_files.clusters(app.root), project_files.catalog(app.root)
    kinds = app.disk_kinds()
    read = profiles.read_profile(name, text, clusters, _READ_AT, catalog, mechanisms=kinds)
    return text, isinstance(read.tier.disk, Emulated) and not engines


def _disk(wanted: Wanted, has_limits: bool) -> str:
    """How the tier's disk is made or found; of others' cluster that too."""
    from orchestrator.keys.tier_keys import NUMBER

    if wanted.path is not None:
        place = _section("each" if NUMBER in wanted.path else "shared", path=wanted.path)
        text = _section("mounted", place=place.rstrip())
        return text if wanted.tier or has_limits else text + _section("limits")
    if wanted.storage_class is not None:
        return _section("claimed", name=wanted.storage_class)
    if not wanted.hosts:
        return _section("emulated")
    servers = addresses.read(wanted.hosts).servers
    return _section(
        "existing",
        copies=max(1, min(3, len(servers))),
        hosts=wanted.hosts,
        exporters=" ".join(f"http://{server.host}:9100" for server in servers),
    )


def _cluster(wanted: Wanted, app: App) -> str:
    """A shipped file by its name, or what it says with other virtual machines."""
    provider = (wanted.vm or wanted.tier or "").partition("/")[0]
    cluster = wanted.cluster or CLUSTERS.get(provider, CLUSTERS["azure"])
    if wanted.vm is None:
        return _section("cluster", cluster=cluster)
    file = app.root / "profiles" / "clusters" / f"{cluster}.yaml"
    if not file.is_file():
        raise UsageError(f"there is no profiles/clusters/{cluster}.yaml", advice="`tierbench list`")
    lines = [line for line in file.read_text().splitlines() if not line.startswith(("#", "vm:"))]
    body = "".join(f"  {line}\n" for line in (f"vm: {wanted.vm}", *lines))
    return _section("vm", cluster=cluster) + body


def _section(name: str, /, **words: object) -> str:
    """A part of init.txt, filled in."""
    text = Path(__file__).with_name("init.txt").read_text(encoding="utf-8")
    parts = dict(part.split("\n", 1) for part in text.split("%% ")[1:])
    return parts[name].format(**words)


def _write(texts: Mapping[Path, str], root: Path) -> None:
    for file in texts:
        if file.exists():
            raise failure(UsageError, "file is there", file=file.relative_to(root))
    for file, text in texts.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x") as stream:
                stream.write(text)
        except OSError as error:
            raise UnavailableError(f"{file} cannot be written: {error.strerror}") from error
