"""docs/recipes/yugabytedb-cluster.md, from its profiles to a decision, as somebody types it.

Goal: who has two YugabyteDB clusters on two disks learns which disk is enough, and finds both as
they were. Method: two clusters of the stand-in on three nodes each, at real ports, with
certificates as `yugabyted` or the chart makes them; one has a fifth of a processor, which stands
for its slow disk. Of the recipe nothing but addresses, the folder, the load and its size are
changed. The chart's names are resolved by this computer, as in the cluster's network. Its masters
are pods of their own; here a node has both names.
"""

from __future__ import annotations

import html
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest
import yaml

from orchestrator.analysis.answers import phrases
from orchestrator.analysis.verdicts import judge
from orchestrator.errors import EXIT_DONE, EXIT_INCONCLUSIVE
from orchestrator.system import store
from tests.documented import documented_commands, examples
from tests.integration import host_names, running_yugabytedb
from tests.integration.conftest import HERE, measured, tierbench
from tests.integration.running_yugabytedb import PASSWORD, Wanted

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

RECIPE = "recipes/yugabytedb-cluster.md"
VMS = "Three VMs each"
CHART = "From YugabyteDB's Helm chart"
SLOW_CPUS = 0.2
NODES = {"node-1", "node-2", "node-3"}
# A counter that each node must have: of its machine by node_exporter at 9300, which the chart's
# profiles do not have; of its tablet server.
EVERYWHERE = {VMS: "cpu_seconds_total", CHART: "sql_statements_total"}
# Of the recipe's commands: the load, which lasts for hours, its scale, and its repetitions.
SMALLER = {
    "point-select": str(HERE / "workloads" / "short-point-select.yaml"),
    "study": "smoke",
    "5": "2",
}


def of_profiles(heading: str) -> dict[str, str]:
    """File's name → its text, of the recipe."""
    texts: dict[str, str] = {}
    for text in examples(RECIPE, heading):
        name = text.split("\n", 1)[0].removeprefix("# profiles/")
        texts[name] = text
    return texts


def written(file: Path, text: str) -> Path:
    """The authority's file is named from the working directory, which here is another."""
    file.write_text(text.replace("tls_root: ", f"tls_root: {file.parent}/"))
    return file


def declared(text: str) -> dict[str, Any]:
    """What a profile says of its cluster; its hosts and its servers' URLs as lists."""
    existing: dict[str, Any] = yaml.safe_load(text)["cluster"]["existing"]
    for key in ("hosts", "masters"):
        if isinstance(existing[key], str):
            existing[key] = existing[key].split()
    return existing


def pods_of(text: str) -> tuple[tuple[str, ...], ...]:
    """Of each node the names of its tablet server and of its master."""
    existing = declared(text)
    pods: list[tuple[str, ...]] = []
    for host, url in zip(existing["hosts"], existing["masters"], strict=True):
        pods.append((host, str(urlsplit(url).hostname)))
    return tuple(pods)


@dataclass(frozen=True)
class Running:
    """The clusters of a recipe's part. `first`: the address of the first node of each; `names`: the
    address of each name that this computer must resolve."""

    profiles: dict[str, Path] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)


def started(heading: str, image: str, folder: Path, up: ExitStack) -> Running:
    """The clusters that the profiles declare, and the profiles in `folder`."""
    running = Running()
    for number, (name, text) in enumerate(of_profiles(heading).items()):
        certified = folder / f"authority-{number}"
        certified.mkdir()
        wanted = Wanted(image, certified)
        if heading == CHART:
            wanted = replace(wanted, pods=pods_of(text))
        if number == 0:
            wanted = replace(wanted, cpus=SLOW_CPUS)
        addresses = up.enter_context(running_yugabytedb.cluster(wanted))
        running.first.append(addresses[0])
        existing = declared(text)
        with (folder / existing["tls_root"]).open("a") as authorities:
            authorities.write((certified / "root.crt").read_text())
        if wanted.pods:
            for names, address in zip(wanted.pods, addresses, strict=True):
                running.names.update(dict.fromkeys(names, address))
        else:
            for documented, address in zip(existing["hosts"], addresses, strict=True):
                text = text.replace(documented, address)
        running.profiles[name] = written(folder / name, text)
    return running


def compared(heading: str, profiles: dict[str, Path]) -> list[list[str]]:
    """The recipe's last two commands, of which the first plans, without the program's name."""
    commands: list[list[str]] = []
    for words in documented_commands(RECIPE, heading):
        if words[1] == "compare":
            changed = [SMALLER.get(word, word) for word in words[1:]]
            place = changed.index("--profiles") + 1
            files = [str(profiles[f"{name}.yaml"]) for name in changed[place].split()]
            changed[place] = " ".join(files)
            commands.append(changed)
    return commands


def databases(address: str) -> set[str]:
    with running_yugabytedb.session_of_owner(address) as session:
        return {
            str(row[0]) for row in session.execute("SELECT datname FROM pg_database")
        }


def decided(heading: str, folder: Path, output: str) -> None:
    """By figures of all nodes and their machines, and as the page says. Two cores that carry six
    nodes may be the limit themselves: then no tier is named, and that is said. Never is it the slow
    cluster's, and never does the owner's durability stand in the way of what only reads."""
    campaign = store.load(folder / "results/latest")
    verdict = judge(campaign)
    (decision,) = verdict.decisions
    assert decision.tier is None or decision.tier.endswith("v2"), output
    assert "commits not durable" not in {doubt.kind for doubt in verdict.doubts}
    for data in campaign.runs:
        assert data.record.outcome == "done", data.record.failure
        facts = data.record.facts["database"]
        assert (facts["flavour"], facts["replication_factor"]) == ("yugabytedb", 3)
        assert (facts["tls"], facts["durable"]) == ("verify-full", False)
    for file in (folder / "results/latest/runs").glob("*/samples.parquet"):
        samples = pd.read_parquet(file)
        asked = samples[samples["metric"] == EVERYWHERE[heading]]
        assert set(asked["node"]) >= NODES, EVERYWHERE[heading]
    page = (folder / "results/latest/report.html").read_text()
    tiers = [profile.name for profile in campaign.plan.profiles]
    assert phrases.opening(decision.reason, tiers) in html.unescape(page)
    assert "stands in for YugabyteDB" not in page


@pytest.mark.slow
@measured
@pytest.mark.parametrize("heading", [VMS, CHART], ids=["vms", "chart"])
def test_two_clusters_to_a_decision(
    heading: str, standin_image: str, tmp_path: Path
) -> None:
    if heading == CHART and not host_names.can_be_written():
        pytest.skip("needs root: names of the chart are written into /etc/hosts")
    folder = tmp_path
    with ExitStack() as up:
        running = started(heading, standin_image, folder, up)
        up.enter_context(host_names.resolved(running.names))
        before = [databases(address) for address in running.first]
        results = str(folder / "results")
        planned, measured_by = compared(heading, running.profiles)
        code, said = tierbench(*planned, "--results", results, YB_PASSWORD=PASSWORD)
        assert code == EXIT_DONE and "--dry-run" in planned, said
        code, said = tierbench(*measured_by, "--results", results, YB_PASSWORD=PASSWORD)
        assert code == EXIT_INCONCLUSIVE, said
        assert [databases(address) for address in running.first] == before
    decided(heading, folder, said)
