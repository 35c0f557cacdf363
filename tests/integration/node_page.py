"""A page as node_exporter has it, of what the kernel says here: processors, memory and disks.

Runs by itself in a container beside a server, on the standard library: `python3 - PORT`.
"""

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_TICKS = 100.0
_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_SECTOR_BYTES = 512
_DISK = {  # place in /proc/diskstats → metric, what a unit of it is worth
    3: ("reads_completed_total", 1.0),
    5: ("read_bytes_total", _SECTOR_BYTES),
    6: ("read_time_seconds_total", 0.001),
    7: ("writes_completed_total", 1.0),
    9: ("written_bytes_total", _SECTOR_BYTES),
    10: ("write_time_seconds_total", 0.001),
    11: ("io_now", 1.0),
    12: ("io_time_seconds_total", 0.001),
    13: ("io_time_weighted_seconds_total", 0.001),
}


def _processors() -> Iterator[str]:
    for line in Path("/proc/stat").read_text().splitlines():
        words = line.split()
        if words[0].startswith("cpu") and words[0] != "cpu":
            for mode, ticks in zip(_MODES, words[1:], strict=False):
                labels = f'cpu="{words[0][3:]}",mode="{mode}"'
                yield f"node_cpu_seconds_total{{{labels}}} {int(ticks) / _TICKS}"


def _memory() -> Iterator[str]:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, amount = line.split(":")
        if amount.endswith("kB"):
            kilobytes = int(amount.removesuffix("kB"))
            name = name.replace("(", "_").replace(")", "")
            yield f"node_memory_{name}_bytes {kilobytes * 1024}"


def _disks() -> Iterator[str]:
    for line in Path("/proc/diskstats").read_text().splitlines():
        words = line.split()
        for place, (metric, unit) in _DISK.items():
            value = int(words[place]) * unit
            yield f'node_disk_{metric}{{device="{words[2]}"}} {value}'


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        lines = [*_processors(), *_memory(), *_disks(), ""]
        self.send_response(200)
        self.end_headers()
        self.wfile.write("\n".join(lines).encode())

    def log_message(self, *_words: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("", int(sys.argv[1])), _Page).serve_forever()
