"""docs/recipes/yugabytedb-cluster.md, from its profiles to a decision, as somebody types it.

Goal: who has two YugabyteDB clusters on two disks learns which disk is enough, and finds both as
they were. Method: two clusters of the stand-in on three nodes each, at real ports, with
certificates as `yugabyted` makes them; one has a fifth of a processor, which stands for its slow
disk. Of the recipe nothing but addresses, the folder, the load and its size are changed.
"""

from __future__ import annotations

import html
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
import pytest
import yaml

from orchestrator.analysis.verdicts import judge
from orchestrator.errors import EXIT_INCONCLUSIVE
from orchestrator.system import store
from tests.documented import documented_commands, examples
from tests.integration import running_yugabytedb
from tests.integration.conftest import HERE, measured, tierbench
from tests.integration.running_yugabytedb import PASSWORD, Wanted

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

RECIPE = "recipes/yugabytedb-cluster.md"
SLOW_CPUS = 0.2
NODES = {"node-1", "node-2", "node-3"}
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


def hosts_of(text: str) -> list[str]:
    hosts = yaml.safe_load(text)["cluster"]["existing"]["hosts"]
    if isinstance(hosts, str):
        return hosts.split()
    return list(hosts)


def compared(heading: str, profiles: dict[str, Path]) -> list[str]:
    """The recipe's last command, without the program's name."""
    (words,) = [
        words[1:]
        for words in documented_commands(RECIPE, heading)
        if words[1] == "compare" and "--dry-run" not in words
    ]
    changed = [SMALLER.get(word, word) for word in words]
    place = changed.index("--profiles") + 1
    names = changed[place].split()
    changed[place] = " ".join(str(profiles[f"{name}.yaml"]) for name in names)
    return changed


def databases(address: str) -> set[str]:
    with running_yugabytedb.session_of_owner(address) as session:
        return {
            str(row[0]) for row in session.execute("SELECT datname FROM pg_database")
        }


def decided(folder: Path, output: str) -> None:
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
        of_machines = samples[samples["metric"] == "cpu_seconds_total"]
        assert set(of_machines["node"]) >= NODES, "node_exporter was asked at 9300"
    page = (folder / "results/latest/report.html").read_text()
    assert decision.reason in html.unescape(page)
    assert "stands in for YugabyteDB" not in page


@pytest.mark.slow
@measured
def test_three_vms_each(standin_image: str, tmp_path: Path) -> None:
    folder = tmp_path
    texts = of_profiles("Three VMs each")
    files: dict[str, Path] = {}
    with ExitStack() as up:
        authorities: list[str] = []
        first: list[str] = []
        for number, (name, text) in enumerate(texts.items()):
            certified = folder / f"authority-{number}"
            certified.mkdir()
            cpus = None if number else SLOW_CPUS
            wanted = Wanted(standin_image, certified, cpus)
            addresses = up.enter_context(running_yugabytedb.cluster(wanted))
            authorities.append((certified / "root.crt").read_text())
            first.append(addresses[0])
            for old, new in zip(hosts_of(text), addresses, strict=True):
                text = text.replace(old, new)
            files[name] = written(folder / name, text)
        (folder / "yb-ca.crt").write_text("".join(authorities))
        before = [databases(address) for address in first]
        results = str(folder / "results")
        words = compared("Three VMs each", files)
        code, said = tierbench(*words, "--results", results, YB_PASSWORD=PASSWORD)
        assert code == EXIT_INCONCLUSIVE, said
        assert [databases(address) for address in first] == before
    decided(folder, said)
