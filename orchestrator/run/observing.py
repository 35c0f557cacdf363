"""Reads counters of disks every second for hours or days, and nothing else: node_exporter's pages.

What was read is in files, a new one every minute, so that a program that is killed loses no more
than that; the next one goes on in the same folder. Nothing is written on a node.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.collectors.common import local
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.histories.files import live
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node
from orchestrator.powers import Clock
from orchestrator.run.telemetry import sampling
from orchestrator.system import http_client, parquet

_PATH = "/metrics?collect[]=diskstats&collect[]=time"
_OTHERS = re.compile(r"^https?://(?:[^@/]*@)?|/.*$")  # than host and port


def observe(
    folder: Path,
    exporters: Sequence[str],
    device: str,
    length_s: float,
    clock: Clock,
    get: local.Get = http_client.get,
) -> Mapping[str, int]:
    """Reads until that time is over since the first reading in the folder; what was read is kept
    also if it is interrupted. Returns what failed → how often."""
    now_s = clock.now()
    end_s = min((float(file.parent.name) for file in live(folder)), default=now_s) + length_s
    if end_s <= now_s:
        return {}
    own = folder / "samples" / f"{now_s:.0f}"
    nodes = [
        Node(
            f"{_OTHERS.sub('', url)} {device}",
            "database",
            sources={NODE_EXPORTER: url.rstrip("/"), DISK_DEVICE: device},
        )
        for url in exporters
    ]
    with sampling(nodes, [NodeExporterCollector(get, _PATH)], clock, folder=own) as readings:
        try:
            clock.sleep(end_s - now_s)
        finally:
            *_, last = readings.tables([])
            own.mkdir(parents=True, exist_ok=True)
            parquet.write(own / "last.parquet", [last] if len(last) else [])
    return readings.misses
