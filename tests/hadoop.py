"""A Hadoop file system that says what a real one was seen to say (fixtures/hadoop-3.4.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.extensions.hadoop.pages import Servers
from orchestrator.load_generators import binding
from orchestrator.model import Cluster, Dataset, Endpoint, Node, Workload
from orchestrator.planning import workloads
from tests import ROOT, TESTS
from tests.pages import serving

SAID = TESTS / "fixtures" / "hadoop-3.4.2"
FSCK = "/fsck?ugi=root&path=/"
_JMX = "/jmx?qry=Hadoop:service="
ACTIVITY = f"{_JMX}DataNode,name=DataNodeActivity*"
NODES = ("node-1", "node-2", "node-3")
ENVIRONMENT = {"NAME_NODE": "10.0.0.2", "COPIES": "3", "SETTINGS": ""}
_DEFAULTS = {
    "dfs.bytes-per-checksum": "512",
    "dfs.blocksize": "16m",
    "dfs.namenode.redundancy.considerLoad": "false",
}


def small(name: str, **of_dataset: int) -> Workload:
    """A shipped workload at scale smoke, with other sizes of its data."""
    text = (ROOT / "workloads" / f"hdfs-{name}.yaml").read_text()
    load = workloads.read_workload(f"hdfs-{name}", text, "smoke")
    own = Dataset(load.dataset.family, {**load.dataset.parameters, **of_dataset})
    return binding.bind(replace(load, dataset=own), None)


def said(name: str) -> str:
    return (SAID / name).read_text()


def lacking(blocks: int) -> str:
    """The name node's account of files of which so many blocks have too few copies."""
    name = "Under-replicated blocks:\t"
    return said("fsck.txt").replace(f"{name}0", f"{name}{blocks}")


def pages() -> dict[str, str]:
    """Of a name node and of a data node."""
    synced = json.loads(said("dnconf.json"))["property"]
    settings = {
        name: {**synced, "key": name, "value": value}
        for name, value in _DEFAULTS.items()
    }
    settings[synced["key"]] = synced
    return {
        f"{_JMX}NameNode,name=FSNamesystemState": said("fsns.json"),
        f"{_JMX}NameNode,name=NameNodeInfo": said("nninfo.json"),
        FSCK: said("fsck.txt"),
        ACTIVITY: said("dnact.json"),
        **{
            f"/conf?name={name}": json.dumps({"property": of})
            for name, of in settings.items()
        },
    }


def at(url: str) -> Cluster:
    """Three data nodes and their name node, all of whose pages are those of one server."""
    servers = Servers(url, dict.fromkeys(NODES, url), ENVIRONMENT)
    nodes = [Node(name, "database", container=name) for name in NODES]
    first = Node("name-node", "coordinator", container="name-node")
    endpoint = Endpoint("10.0.0.2", 9820, 1, "bench", "", "bench")
    return Cluster("hdfs", "3.4.2", (first, *nodes), (endpoint,), "net", servers)


@contextmanager
def cluster(changed: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Its pages are as they were seen, but for what is `changed`."""
    with serving({**pages(), **(changed or {})}) as url:
        yield at(url)
