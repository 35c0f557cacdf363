"""Each layout of disks on each kind of tier, platform and database: it works or is refused.

Method: a profile is written for each combination of tests/layouts.py, planned and looked ahead, as
a dry run does, without an engine. On Kubernetes the cluster is of three machines. What the program
says is held against the rules, and the table of docs/COMBINATIONS.md is made from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.errors import NotAsked, TierbenchError, UsageError
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.dry import UnaskedPlatform
from orchestrator.powers import Machine, Platform
from orchestrator.run.beforehand import checks
from tests import ROOT, golden, layouts
from tests.apps import an_app
from tests.layouts import Combination
from tests.option_kinds import planned, told

pytestmark = pytest.mark.usefixtures("profile_files", "password")
# What no test has: disks that are mounted at these paths.
NOT_HERE = re.compile(
    "^(/mnt/[a-z0-9-]+ is not a directory|[23456] disks of one cannot be used)"
)
NODES = "nodes: 3, replication_factor: 3, "
NODES += "node: {smoke: {cpus: 1, memory: 2GiB, disk: 8GiB}}"
CLUSTERS = {
    "postgresql": f"{{database: postgresql, {NODES}}}",
    "yugabytedb": f"{{database: yugabytedb, {NODES}}}",
    layouts.DISK_ALONE: f"{{database: postgresql, {NODES}}}",
    "existing": "{database: existing, replication_factor: 1, existing: "
    "{hosts: db.example, user: bench, password_env: BENCH_PASSWORD, tls: off}}",
}
MACHINES = "machines: [tcp://vm1:2376, tcp://vm2:2376, tcp://vm3:2376]\n"


class ThreeMachines(UnaskedPlatform):
    """A Kubernetes cluster of three machines, which is not asked."""

    def machines(self) -> tuple[Machine, ...]:
        return (LocalMachine(), LocalMachine(), LocalMachine())


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the cluster that others run, which is not asked."""
    monkeypatch.setenv("BENCH_PASSWORD", "of no cluster")


def profile_of(asked: Combination) -> str:
    """A profile as a person writes it for this combination."""
    keys = [f"enforcement: {asked.tier}"]
    if asked.tier != "none":
        keys.append("type: azure/P15")
    has_log = asked.layout in (layouts.LOG, layouts.BOTH)
    if asked.tier == "mounted":
        keys.append(disks_at(asked.platform, has_log))
    if has_log:
        keys.append("wal: azure/P30")
    if asked.layout in (layouts.STRIPED, layouts.BOTH):
        keys.append("count: 2")
    machines = ""
    if asked.platform == "machines":
        machines = MACHINES
    tier = ", ".join(keys)
    cluster = CLUSTERS[asked.database]
    return (
        f"question: q\ntitle: A disk\ntier: {{{tier}}}\ncluster: {cluster}\n{machines}"
    )


def disks_at(platform: str, has_log: bool) -> str:
    """Where they are mounted: on machines of their own all at the same path."""
    number = "-{node}"
    if platform == "machines":
        number = ""
    data = f'data: "/mnt/data{number}"'
    if has_log:
        return f'disks: {{{data}, wal: "/mnt/wal{number}"}}'
    return f"disks: {{{data}}}"


def what_the_program_says(asked: Combination) -> str:
    """All that ends such a campaign before anything is started; "" if nothing does."""
    Path("one.yaml").write_text(profile_of(asked))
    workload = "tpcc"
    if asked.database == layouts.DISK_ALONE:
        workload = "disk-matrix"
    options: dict[str, Any] = {}
    if asked.platform != "machines":
        options["platform"] = asked.platform
    request = Request(
        profiles=("one.yaml",), workloads=(workload,), scale="smoke", **options
    )
    try:
        return " ".join(problems(request, asked.platform))
    except UsageError as error:
        mistakes = [f"{mistake.where}: {mistake.what}" for mistake in error.mistakes]
        return " ".join([error.what, *mistakes])


def problems(request: Request, platform: str) -> Iterator[str]:
    """What the checks before a campaign find, but for room and disks that no test has."""
    parts, world = an_app(Path("cache")).unasked()
    if platform == "kubernetes":
        world = replace(world, platform=cast(Platform, ThreeMachines()))
    plan = planned(request)
    for name, check in checks.every(plan, parts, world):
        if name == "space":
            continue
        why = refused_by(check)
        if why and not NOT_HERE.search(why):
            yield why


def refused_by(check: Callable[[], None]) -> str:
    """What a check says; "" if it finds nothing, or could not be asked here."""
    try:
        check()
    except NotAsked:
        return ""
    except TierbenchError as error:
        return told(error)
    return ""


@pytest.mark.parametrize("tier", layouts.TIERS)
def test_the_program_says_what_the_table_says(tier: str) -> None:
    for asked in layouts.combinations():
        if asked.tier != tier:
            continue
        answer = what_the_program_says(asked)
        refusals = layouts.refusals_of(asked)
        if not refusals:
            assert answer == "", asked
        else:
            is_a_reason = [refusal.words in answer for refusal in refusals]
            assert any(is_a_reason), (asked, answer)


@pytest.mark.parametrize("refusal", layouts.REFUSALS, ids=lambda refusal: refusal.words)
def test_each_reason_alone_refuses(refusal: layouts.Refusal) -> None:
    """Of each tier and choice that it names, with all else as it works."""
    for tier in refusal.tiers:
        for choice in refusal.choices:
            asked = layouts.all_else_working(tier, choice)
            assert refusal.words in what_the_program_says(asked), asked


def test_the_document_has_the_table() -> None:
    document = ROOT / "docs" / "COMBINATIONS.md"
    golden.compare_section(document, "layouts", layouts.as_markdown())
