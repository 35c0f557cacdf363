"""What programs of load generators print: the reports of sysbench, and why one ended badly."""

import re
from pathlib import Path

from orchestrator.errors import LoadError
from orchestrator.units import format_number

STARTED = "Threads started!"  # by sysbench, when all sessions are open
NOT_COUNTED = "the run is not counted: `tierbench resume` measures it again"
_SHOWN = 10  # lines of a file, as evidence
_BANNER = re.compile(r"^sysbench (\S+)", re.MULTILINE)


def version(console: str) -> str | None:
    """sysbench's version, from the first line that it prints."""
    banner = _BANNER.search(console)
    if banner:
        return banner[1]
    return None


def complaint(text: str, *marks: str) -> str:
    """The first line of a program's output that has one of the marks, else its last one."""
    last = "no output"
    for line in text.splitlines():
        if any(mark in line for mark in marks) and line.strip():
            return line
        if line.strip():
            last = line
    return last


def ended_badly(program: str, exit_code: int, why: str, output: str) -> LoadError:
    """The error of a program that did not run to the end of its load."""
    return LoadError(
        f"{program} ended with exit code {exit_code}{why}",
        advice="its output is among the raw files of the run",
        evidence=output,
    )


def raw_file_error(file: Path, what: str) -> LoadError:
    """The error of a raw file that is not what its program leaves of a whole load. what: behind
    the file's name."""
    text = ""
    if file.is_file():
        text = file.read_text(encoding="utf-8", errors="replace")
    return LoadError(
        f"{file} {what}",
        advice=NOT_COUNTED,
        evidence="\n".join(text.splitlines()[-_SHOWN:]),
    )


def reported(line: str) -> tuple[int, float] | None:
    """The second that a line of sysbench's report is of, and transactions a second in it."""
    second = re.match(r"\[ (\d+)s \]", line)
    if not second:
        return None
    tps = re.search(r"tps: ([\d.]+)", line)
    if not tps:
        return int(second[1]), 0.0
    return int(second[1]), float(tps[1])


def progress(elapsed_s: float, warmup_s: float, measure_s: float, per_s: float) -> str:
    """The step of a second, counted from the begin of the warm-up."""
    rate = f"{format_number(per_s)} transactions/s"
    if elapsed_s <= warmup_s:
        return f"warm-up {elapsed_s:.0f}/{warmup_s:.0f} s: {rate}"
    return f"measuring {elapsed_s - warmup_s:.0f}/{measure_s:g} s: {rate}"
