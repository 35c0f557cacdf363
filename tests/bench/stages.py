"""What each stage of this program costs: wall time, CPU and peak memory."""

from __future__ import annotations

import time
from pathlib import Path

from rich.table import Table


class Stages:
    """Wall time, CPU and peak of resident memory (VmHWM) from one `begin` to the next."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float, float]] = []
        self._name, self._wall_s, self._cpu_s = "", 0.0, 0.0

    def begin(self, name: str) -> None:
        self.end()
        self._name = name
        self._wall_s, self._cpu_s = time.monotonic(), time.process_time()
        Path("/proc/self/clear_refs").write_text("5")

    def end(self) -> None:
        if self._name:
            wall_s, cpu_s = (
                time.monotonic() - self._wall_s,
                time.process_time() - self._cpu_s,
            )
            self.rows.append((self._name, wall_s, cpu_s, _peak_mb()))
        self._name = ""

    def table(self, title: str) -> Table:
        """All stages, and the sums and the highest peak of them."""
        table = Table("stage", "wall, s", "CPU, s", "peak memory, MB", title=title)
        for name, wall_s, cpu_s, mb in self.rows:
            table.add_row(name, f"{wall_s:.1f}", f"{cpu_s:.1f}", f"{mb:.0f}")
        walls, cpus, peaks = zip(*(row[1:] for row in self.rows), strict=True)
        table.add_row(
            "all", f"{sum(walls):.1f}", f"{sum(cpus):.1f}", f"{max(peaks):.0f}"
        )
        return table


def _peak_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(
        int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")
    )
