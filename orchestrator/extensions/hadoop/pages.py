"""Readings of the servers' own web pages: name nodes at :9870, data nodes at :9864, plain HTTP.

A failed reading is an OSError, as is a page of another form."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.system.http_client import get, get_json, understood

RPC = 9820
NAME_PAGE = 9870
DATA_PAGE = 9864
_WRONG = ("Under-replicated blocks", "Missing blocks", "Corrupt blocks")


@dataclass(frozen=True)
class Servers:
    """Where the servers' pages are as seen from here, data nodes' by node.

    `environment`: what a job of a client needs in its environment (`job` of the image).
    """

    name_node: str
    data_nodes: Mapping[str, str]
    environment: Mapping[str, str]


def _bean(server: str, name: str) -> Mapping[str, Any]:
    return dict(get_json(f"{server}/jmx?qry=Hadoop:{name}")["beans"][0])


@understood("/jmx")
def live_nodes(name_node: str) -> int:
    """How many data nodes answer a name node that lets clients write; 0 until it does."""
    state = _bean(name_node, "service=NameNode,name=FSNamesystemState")
    # The name node is in safe mode until it has heard of enough blocks. It then refuses to write.
    if state["FSState"] == "Operational":
        return int(state["NumLiveDataNodes"])
    return 0


@understood("/jmx")
def version(name_node: str) -> str:
    info = _bean(name_node, "service=NameNode,name=NameNodeInfo")
    return str(info["SoftwareVersion"])


@understood("/jmx")
def written_bytes(data_node: str) -> float:
    """Bytes of files that a data node was given since it was started, without checksums."""
    return float(_activity(data_node)["BytesWritten"])


@understood("/jmx")
def copied_blocks(data_node: str) -> int:
    """How many blocks a data node has sent to another, for a copy was lacking."""
    return int(_activity(data_node)["BlocksReplicated"])


def _activity(data_node: str) -> Mapping[str, Any]:
    return _bean(data_node, "service=DataNode,name=DataNodeActivity*")


@understood("/conf")
def setting(server: str, name: str) -> str:
    """The value with which a server runs."""
    page = get(f"{server}/conf?name={name}", headers={"Accept": "application/json"})
    return str(json.loads(page)["property"]["value"])


@understood("/fsck")
def lacking(name_node: str) -> str:
    """What is wrong with the copies of all files, as the name node knows them; "" if nothing is."""
    page = get(f"{name_node}/fsck?ugi=root&path=/", timeout_s=60.0)
    # A page that breaks off, or tells of a failure, comes with status 200 too.
    if "Status:" not in page:
        raise ValueError(page[-200:])
    wrong: list[str] = []
    for name in _WRONG:
        (count,) = re.findall(rf"^\s*{name}:\s+(\d+)", page, re.MULTILINE)
        if int(count):
            wrong.append(f"{count} {name.lower()}")
    return ", ".join(wrong)
