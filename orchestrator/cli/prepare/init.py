"""`tierbench init`: a first profile and a first workload, with comments that explain their keys.

All is written into the current folder: profiles and workloads into the folders of that name there,
a campaign beside them. What a comment shows behind `#` can be taken as it is: it is a key with a
value that works. Nothing is overwritten."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from orchestrator.cli.common import completion
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.options import names_in
from orchestrator.errors import UsageError
from orchestrator.keys import addresses
from orchestrator.system import files
from orchestrator.texts.prose import listed

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_READ_AT = "laptop"  # a scale that every file has


# Machines on which a profile begins, by the provider of its disk.
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
        """The hosts as a profile has them: libpq's forms of a host keep their commas."""
        hosts = self.existing or ""
        # Both `host=a,b port=5433` and `postgresql://a,b/` are forms of libpq.
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
    campaign: str | None = None,
) -> None:
    """Writes a first profile, workload or campaign, with comments that explain its keys."""
    _check_names((name, workload, campaign))
    if name is None:
        _check_nothing_asked(options)
    places = _Places(Path.cwd(), app.user_files or app.root)
    # What is not written now is taken from what is shipped, so that the next command runs.
    profile_place = "premium"
    workload_place = "tpcc"
    is_like_shipped = True
    texts: dict[Path, str] = {}
    if name is not None:
        profile = _profile(name, changes or (), options, app, places)
        profile_place = places.as_asked("profile", name)
        is_like_shipped = profile.is_emulated_here
        texts[places.file("profile", name)] = profile.text
    if workload is not None:
        workload_place = places.as_asked("workload", workload)
        text = _filled("workload", places.schema("workload"), name=workload)
        texts[places.file("workload", workload)] = text
    if campaign is not None:
        texts[places.file("campaign", campaign)] = _filled(
            "campaign",
            places.schema("campaign"),
            profile=profile_place,
            workload=workload_place,
        )
    if not texts:
        raise UsageError(
            "name a profile, a --workload or a --campaign",
            advice="`tierbench init --help`",
        )
    _write(texts)
    for file in texts:
        app.out.print_line(f"wrote {_from_here(file)}")
    if name is not None and _shows_what_it_lacks(app, places.file("profile", name)):
        return
    command = _command_for(profile_place, workload_place, is_like_shipped, options)
    if campaign is not None:
        command = f"compare {campaign}.yaml"
    app.out.print_line(f"next: tierbench {command} --dry-run")


def _command_for(
    profile: str, workload: str, is_like_shipped: bool, wanted: Wanted
) -> str:
    """The command that measures the workload on the disk."""
    if is_like_shipped:
        # Such a profile can be compared with one that is shipped.
        return f'compare --profiles "{profile} ultra" --workloads {workload}'
    command = f"run --profile {profile} --workload {workload}"
    if wanted.hosts:  # an existing cluster has its database
        return command
    # PostgreSQL never stands in for `auto` on a real disk.
    return f"{command} --db yugabytedb"


def _shows_what_it_lacks(app: App, profile: Path) -> bool:
    """Whether somebody must still write something into the profile, which is then shown: no options
    say whose authority signed the certificates of an existing cluster."""
    from orchestrator.cli.prepare import validate

    file = _from_here(profile)
    _, mistakes = validate.read(app, file)
    for mistake in mistakes:
        line = f"still missing: {mistake.where}: {mistake.what}"
        app.out.print_line(line)
    if mistakes:
        app.out.print_line(f"next: tierbench validate {file}")
    return bool(mistakes)


def _check_names(file_names: Sequence[str | None]) -> None:
    """UsageError for a name that could lead out of the folder, or needs quotes in a shell."""
    for name in file_names:
        if name is not None and not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be the name of a file here",
                "take letters, digits, `-`, `_` and `.`, such as my-disk",
            )


@dataclass(frozen=True)
class _Places:
    """Where files are written (`folder`, the current one), and where commands look for names
    (`catalog`)."""

    folder: Path
    catalog: Path

    def file(self, kind: str, name: str) -> Path:
        if kind == "campaign":
            return self.folder / f"{name}.yaml"
        return self.folder / f"{kind}s" / f"{name}.yaml"

    def as_asked(self, kind: str, name: str) -> str:
        """How a command names it: by its name where it is looked for, else by its path."""
        if self.folder.resolve() == self.catalog.resolve():
            return name
        return str(_from_here(self.file(kind, name)))

    def schema(self, kind: str) -> str:
        """Where the schema is, as seen from the file; "" if there is none beside it."""
        path = f"docs/schema/{kind}.json"
        if not (self.folder / path).is_file():
            return ""
        if kind == "campaign":
            return path
        # Profiles and workloads lie one folder further down.
        return f"../{path}"


def _check_nothing_asked(options: Wanted) -> None:
    """UsageError if options say what a profile is, and there is none to be written."""
    given = []
    for key, value in vars(options).items():
        if value:
            given.append(f"--{key.replace('_', '-')}")
    if given:
        raise UsageError(
            f"only a profile has {listed(given)}", advice="give its name too"
        )


@dataclass(frozen=True)
class _ProfileFile:
    """What is written, and whether its disk is emulated on this machine, as those shipped are."""

    text: str
    is_emulated_here: bool


def _profile(
    name: str, changes: Sequence[str], wanted: Wanted, app: App, places: _Places
) -> _ProfileFile:
    """The profile with `changes` of its tier. UsageError with every mistake."""
    from orchestrator.keys.tier_keys import NUMBER
    from orchestrator.planning import named_tiers, profiles, project_files

    if wanted.tier is not None:
        # `-o name` of an answer has keys behind the row: `aws/gp3:size=1TiB,iops=6000`.
        row, keys_of_row = named_tiers.row_and_changes(wanted.tier)
        wanted = replace(wanted, tier=row)
        changes = [*keys_of_row, *changes]
    _check_one_disk(wanted)
    clusters = project_files.clusters(app.root)
    cluster = _cluster(wanted, clusters)
    engines = names_in(wanted.machines)
    text = _filled(
        "profile",
        places.schema("profile"),
        name=name,
        wanted=wanted,
        number=NUMBER,
        given=named_tiers.keys_and_values(changes),
        servers=addresses.read(wanted.hosts).servers,
        cluster=cluster,
        of_cluster=clusters.get(cluster, ""),
        engines=engines,
    )
    # Read as a campaign will read it, so that nothing is written which is then refused.
    catalog = project_files.catalog(app.root)
    kinds = app.disk_kinds()
    nameable = profiles.Nameable(clusters, catalog, mechanisms=kinds)
    profile = profiles.read_profile(name, text, nameable, _READ_AT)
    # Only such a profile runs on the machines of the shipped ones, and can be compared with them.
    is_emulated_here = profile.tier.disk.holds_limits and not engines
    return _ProfileFile(text, is_emulated_here)


def _cluster(wanted: Wanted, clusters: Mapping[str, str]) -> str:
    """The file that was named, else that of the provider. UsageError if a machine is to replace
    that of a file which is not there."""
    # `azure` of `azure/P30`: each cloud has machines of its own.
    provider, _, _ = (wanted.vm or wanted.tier or "").partition("/")
    # A disk of no provider, such as a path, gets the machines of the shipped profiles.
    cluster = wanted.cluster or CLUSTERS.get(provider, CLUSTERS["azure"])
    if wanted.vm and cluster not in clusters:
        raise UsageError(
            f"there is no profiles/clusters/{cluster}.yaml", advice="`tierbench list`"
        )
    return cluster


def _check_one_disk(wanted: Wanted) -> None:
    """UsageError if options say no disk, or several, or machines of a cluster that has its own."""
    places = {
        "--path": wanted.path,
        "--storage-class": wanted.storage_class,
        "--existing": wanted.hosts,
    }
    given = [option for option, place in places.items() if place]
    if len(given) > 1:
        raise UsageError(
            f"{listed(given)} name {len(given)} disks", "give one of these options"
        )
    if not wanted.tier and not given:
        raise UsageError(
            "say which disk: --tier ROW, --path PATH, --storage-class NAME or "
            "--existing HOST,…",
            "--tier may stand beside one of the others; `tierbench tiers list` shows rows",
        )
    if wanted.hosts and (wanted.cluster or wanted.vm):
        raise UsageError(
            "--cluster and --vm describe nodes that tierbench starts",
            advice="leave them out with --existing",
        )
    if wanted.existing is not None:
        _check_hosts(addresses.read(wanted.hosts))


def _check_hosts(hosts: addresses.Hosts) -> None:
    """UsageError if one of them cannot be read, or there is none: no profile would be of them."""
    advice = "write --existing 10.0.0.11,10.0.0.12:5433"
    if hosts.wrong:
        raise UsageError(f"--existing: {hosts.wrong[0]}", advice)
    if not hosts.servers:
        raise UsageError("--existing names no host", advice)


def _filled(kind: str, schema: str, **words: object) -> str:
    """What init.jinja makes of these. `schema`: where that of the kind is; "" if nowhere."""
    from jinja2 import Environment, StrictUndefined

    source = Path(__file__).with_name("init.jinja").read_text(encoding="utf-8")
    # Strict: a slip in the template is an error, and no gap in somebody's file.
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source).render(kind=kind, schema=schema, **words)


def _from_here(file: Path) -> Path:
    """Its path from the current folder, if it is in it."""
    if file.is_relative_to(Path.cwd()):
        return file.relative_to(Path.cwd())
    return file


def _write(texts: Mapping[Path, str]) -> None:
    """UsageError if one of them is there."""
    # All are looked for first: a campaign without its profile would be half of what was asked for.
    for file in texts:
        if file.exists():
            raise UsageError(
                f"{_from_here(file)} is there already, and nothing is overwritten",
                "take another name",
            )
    for file, text in texts.items():
        files.make_folder(file.parent)
        # What has got this name since is refused here too.
        files.write_new(file, text, private=False)
