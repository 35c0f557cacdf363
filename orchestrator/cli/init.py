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
        text = _HEAD.format(kind="workload") + _WORKLOAD.format(name=workload)
        texts[own / "workloads" / f"{workload}.yaml"] = text
    if name is None and (tier, path, existing) != (None, None, None):
        raise UsageError("--tier, --path and --existing are of a profile: give its name")
    if not texts:
        raise UsageError("name a profile, or a --workload", advice="`tierbench init --help`")
    _write(texts, own)
    for file in texts:
        app.out.print(f"wrote {file.relative_to(own)}", highlight=False)
    load = workload or "tpcc"
    named = f"run --profile {name} --workload {load}"
    if compared:
        named = f'compare --profiles "{name or "premium"} ultra" --workloads {load}'
    app.out.print(f"next: tierbench {named} --dry-run", highlight=False, soft_wrap=True)


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
    text = _HEAD.format(kind="profile") + _QUESTION.format(subject=row or path or "its own disk")
    if row is None:
        text += f"# The tier's name in tables.\ntitle: {name}\n"
    text += "tier:\n" if row is None else f"tier:\n{_ROW.format(row=row)}"
    text += "".join(f"  {key}: {value}\n" for key, value in given.items())
    if path is not None:
        text += _MOUNTED.format(place=f"{_EACH if NUMBER in path else _SHARED}{path}")
        text += "" if row or "iops" in given else _LIMITS
    if hosts:
        servers = addresses.read(hosts).servers
        text += _EXISTING.format(
            copies=max(1, min(3, len(servers))),
            hosts=hosts,
            exporters=" ".join(f"http://{server.host}:9100" for server in servers),
        )
    else:
        text += ("" if path else _EMULATED) + _OWN_CLUSTER
    clusters, catalog = project_files.clusters(app.root), project_files.catalog(app.root)
    kinds = app.disk_kinds()
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
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x") as stream:
                stream.write(text)
        except OSError as error:
            raise UnavailableError(f"{file} cannot be written: {error.strerror}") from error


CLUSTER = "azure-d8s-v5"
_HEAD = """\
# yaml-language-server: $schema=../docs/schema/{kind}.json
# Written by `tierbench init`. docs/OPTIONS.md explains every key.
"""
_QUESTION = """\
# What is asked, in one sentence: the report begins with it.
question: What does {subject} give this cluster?
"""
_ROW = """\
  # A row of the catalog: its limits, burst and price. `tierbench tiers list` shows all.
  type: {row}
"""
_EMULATED = """\
  # The disk is emulated on this machine. On a machine that has it: `tierbench init … --path`.
  enforcement: emulated
  # How much burst credit there is when a run begins: full, empty, 50 % or, without any, off.
  # burst: off
"""
_MOUNTED = """\
  # The real disk that is mounted here. It is measured before and after the campaign, not throttled.
  enforcement: mounted
{place}
  # What must be found there; another is refused.
  # file_system: xfs
  # mount_options: noatime
  # How loaded data are kept for the next run: copy or none.
  # snapshots: copy
"""
_LIMITS = """\
  # What was bought, for one disk; without it the gate measures and judges nothing.
  # iops: 5000
  # throughput: 200MB/s
"""
_SHARED = """\
  # One disk for all nodes. A disk for each: `disks: /mnt/disk-{node}` instead.
  path: """
_EACH = """\
  # A disk for each node, by its number; one of its own for WAL: `{data: …, wal: …}`.
  disks: """
_OWN_CLUSTER = f"""\
# Nodes, their sizes at each scale, and database: profiles/clusters/{CLUSTER}.yaml.
cluster: {CLUSTER}
"""
_EXISTING = """\
  # The disks of a cluster that others run: neither made, limited nor measured here.
  enforcement: existing
cluster:
  database: existing
  replication_factor: {copies}
  existing:
    # Where SQL is spoken: a database `tierbench` is made there, and dropped at the end.
    hosts: {hosts}
    # port: 5433
    # user: yugabyte
    # The variable that holds the password. Or password_file, of mode 0600.
    # password_env: DB_PASSWORD
    # Servers' certificates are verified: by this authority, or not at all (`tls: off`).
    # tls_root: /etc/ssl/certs/ca-certificates.crt
    # For CPU, memory and disk of the nodes, a URL for each host.
    # node_exporters: {exporters}
"""
_WORKLOAD = """\
# Its name in tables.
title: {name}
# The load generator and its script in workloads/: also sysbench/insert.lua, or your own
# (docs/ADDING.md). `generator: sysbench-stock` takes sysbench's own scripts by name.
generator: sysbench
script: sysbench/point_select.lua
# Workloads that name an equal data set share one loaded copy.
dataset: sysbench-tables
statements_per_transaction: 10
# How keys are drawn: uniform, or special (mostly a hot percent of the rows).
options: {{rand_type: uniform}}
# What a tier must be proven to reach; then the cheapest that does so is named.
# slo: p99 < 20 ms, throughput > 500
# For each scale: size of the data, threads that load and that run, times.
scales:
  smoke:
    dataset: {{tables: 4, table_size: 500_000}}
    threads: 16
    loader_threads: 2
    warmup: 3s
    measure: 7s
  laptop:
    dataset: {{tables: 4, table_size: 2_000_000}}
    threads: 16
    loader_threads: 4
    warmup: 15s
    measure: 60s
"""
