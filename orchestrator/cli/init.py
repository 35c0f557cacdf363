"""`tierbench init`: a first profile and a first workload, with comments that explain their keys.

What a comment shows behind `#` can be taken as it is: it is a key with a value that works. Nothing
is overwritten."""

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


CLUSTERS = {
    "azure": "azure-d8s-v5",
    "aws": "aws-r5b-2xlarge",
    "gcp": "gcp-n2-standard-8",
}


@dataclass(frozen=True)
class Wanted:
    """Which disk, on which machines."""

    tier: Annotated[str | None, Option(autocompletion=completion.rows)] = None
    path: str | None = None
    storage_class: str | None = None
    existing: Annotated[str | None, Option(metavar="HOST,...")] = None
    machines: Annotated[str, Option(metavar="ENGINE,...")] = ""
    client_machine: Annotated[
        str | None, Option("--client-machine", metavar="ENGINE")
    ] = None
    cluster: str | None = None
    vm: str | None = None

    @property
    def hosts(self) -> str:
        """As a profile has them: libpq's own ways keep their commas."""
        hosts = self.existing or ""
        if "=" in hosts or "://" in hosts:
            return hosts
        return hosts.replace(",", " ")


@takes(Wanted)
def init(
    app: App,
    options: Wanted,
    name: Annotated[str | None, Argument()] = None,
    changes: Annotated[list[str] | None, Argument(metavar="[KEY=VALUE]...")] = None,
    workload: str | None = None,
) -> None:
    """Writes a first profile, or workload, with comments that explain its keys."""
    own = app.own or app.root
    compared = True
    texts = dict[Path, str]()
    for given in (name, workload):
        if given is not None and not _NAME.fullmatch(given):
            raise failure(UsageError, "bad name of a file", given=given)
    if name is not None:
        text, compared = _profile(name, changes or (), options, app)
        texts[own / "profiles" / f"{name}.yaml"] = text
    if workload is not None:
        texts[own / "workloads" / f"{workload}.yaml"] = _filled(
            "workload", name=workload
        )
    if name is None and (
        asked := [
            f"--{key.replace('_', '-')}" for key, of in vars(options).items() if of
        ]
    ):
        raise UsageError(f"{listed(asked)} say what a profile is: give its name")
    if not texts:
        raise UsageError(
            "name a profile, or a --workload", advice="`tierbench init --help`"
        )
    _write(texts, own)
    for file in texts:
        shown = file
        if own.samefile(Path.cwd()):
            shown = file.relative_to(own)
        app.out.print(f"wrote {shown}", soft_wrap=True)
    load = workload or "tpcc"
    named = f"run --profile {name} --workload {load}"
    if compared:
        named = f'compare --profiles "{name or "premium"} ultra" --workloads {load}'
    app.out.print(f"next: tierbench {named} --dry-run", soft_wrap=True)


def _profile(
    name: str, changes: Sequence[str], wanted: Wanted, app: App
) -> tuple[str, bool]:
    """The text of the profile, with `changes` of its tier; and if its disk is emulated on this
    machine, as those shipped are. UsageError with every mistake."""
    from orchestrator.keys.tier_keys import NUMBER
    from orchestrator.planning import profiles, project_files
    from orchestrator.tier import Emulated

    places = (wanted.path, wanted.storage_class, wanted.hosts)
    if sum(map(bool, places)) > 1 or not (wanted.tier or any(places)):
        raise failure(UsageError, "which disk")
    if wanted.hosts and (wanted.cluster or wanted.vm):
        raise failure(UsageError, "nodes of its own")
    clusters = project_files.clusters(app.root)
    catalog = project_files.catalog(app.root)
    provider = (wanted.vm or wanted.tier or "").partition("/")[0]
    cluster = wanted.cluster or CLUSTERS.get(provider, CLUSTERS["azure"])
    if wanted.vm and cluster not in clusters:
        raise UsageError(
            f"there is no profiles/clusters/{cluster}.yaml", advice="`tierbench list`"
        )
    text = _filled(
        "profile",
        name=name,
        wanted=wanted,
        number=NUMBER,
        given=dict(map(project_files.key_and_value, changes)),
        servers=addresses.read(wanted.hosts).servers if wanted.hosts else (),
        cluster=cluster,
        of_cluster=clusters.get(cluster, ""),
        engines=(engines := names_in(wanted.machines)),
    )
    kinds = app.disk_kinds()
    read = profiles.read_profile(
        name, text, clusters, _READ_AT, catalog, mechanisms=kinds
    )
    return text, isinstance(read.tier.disk, Emulated) and not engines


def _filled(kind: str, **words: object) -> str:
    """What init.jinja makes of these."""
    from jinja2 import Environment, StrictUndefined

    source = Path(__file__).with_name("init.jinja").read_text(encoding="utf-8")
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source).render(kind=kind, **words)


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
            raise UnavailableError(
                f"{file} cannot be written: {error.strerror}"
            ) from error
