"""Reads counters of disks every second for hours or days, and nothing else: node_exporter's pages.

What was read is in named files, a new one every ten minutes, so that a program that is killed loses
no more than that; the next one goes on in the same folder. Nothing is written on a node.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from orchestrator.analysis.observed.demand import READINGS
from orchestrator.analysis.telemetry import counters
from orchestrator.collectors.common import local
from orchestrator.collectors.node_exporter import readings
from orchestrator.histories.files import samples
from orchestrator.powers import Clock
from orchestrator.system import http_client, parquet

PART_S, EVERY_S = 600.0, 1.0
_PATH = "/metrics?collect[]=diskstats&collect[]=time"
_OTHERS = re.compile(r"^https?://(?:[^@/]*@)?|/.*$")  # than host and port
# As `readings` calls the columns of READINGS.
_METRICS = ("time_s", counters.READS, counters.WRITES, counters.READ_BYTES, counters.WRITTEN_BYTES)

Row = tuple[float | str, ...]  # of READINGS


@dataclass
class Observing:
    """A live observation in `folder`, of the disk `device` of each exporter. misses: what failed →
    how often."""

    folder: Path
    exporters: Sequence[str]
    device: str
    clock: Clock
    get: local.Get = http_client.get
    misses: Counter[str] = field(default_factory=Counter)

    def read(self, length_s: float) -> None:
        """Reads until that time is over since the first reading in the folder; what was read is
        kept also if it is interrupted."""
        rows, part_s = list[Row](), self.clock.now()
        known = [float(file.stem.partition("-")[2]) for file in samples(self.folder)]
        end_s = min(known, default=part_s) + length_s
        try:
            while (now_s := self.clock.now()) < end_s:
                rows += self._once()
                if now_s >= part_s + PART_S:
                    self._keep(part_s, rows)
                    rows, part_s = [], now_s
                self.clock.sleep(EVERY_S - self.clock.now() % EVERY_S)
        finally:
            self._keep(part_s, rows)

    def _once(self) -> Iterator[Row]:
        parse = partial(readings, devices=[self.device])
        urls = {_OTHERS.sub("", url): f"{url.rstrip('/')}{_PATH}" for url in self.exporters}
        pages = [local.Page(node, url, parse) for node, url in urls.items()]
        of_nodes = defaultdict[str, dict[str, float]](dict)
        try:
            for sample in local.samples(pages, 0.0, self.get):
                of_nodes[sample.node][sample.metric] = sample.value
        except OSError as error:
            self.misses[str(error)] += 1
        for node, values in of_nodes.items():
            if lacking := set(_METRICS) - values.keys():
                self.misses[f"{node}: the page lacks {', '.join(sorted(lacking))}"] += 1
            else:
                time_s, *amounts = (values[name] for name in _METRICS)
                yield (time_s, node, self.device, *amounts)

    def _keep(self, since_s: float, rows: Sequence[Row]) -> None:
        if rows:
            file = self.folder / "samples" / f"part-{since_s:.0f}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            parquet.write(file, [pd.DataFrame(rows, columns=READINGS)])
