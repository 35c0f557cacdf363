"""What is known of HDFS to the byte: what its copies and their checksums take on disks."""

from collections.abc import Iterator

from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use import conservation
from orchestrator.model import Doubt
from orchestrator.units import format_bytes, format_change

COPIES_PCT = 1.0  # largest deviation from what copies and checksums take


def copies_differ(run: RunData) -> Iterator[Doubt]:
    """All disks against the payload, then each disk against its data node's own account."""
    copies_bytes = conservation.of_copies(run)
    if not copies_bytes:
        return
    written_to_disks = conservation.written(run)
    in_all_bytes = sum(written_to_disks.values())
    yield from _differing("all disks together", in_all_bytes, copies_bytes)
    for node, wanted_bytes in conservation.of_node(run).items():
        written_bytes = written_to_disks.get(node, 0.0)
        yield from _differing(node, written_bytes, wanted_bytes)


def _differing(
    where: str, written_bytes: float, wanted_bytes: float
) -> Iterator[Doubt]:
    if not wanted_bytes:  # a node that was given nothing
        return
    off_pct = 100 * (written_bytes / wanted_bytes - 1)
    if abs(off_pct) > COPIES_PCT:
        yield _copies_differ(where, written_bytes, wanted_bytes, off_pct)


def _copies_differ(
    where: str, written_bytes: float, wanted_bytes: float, off_pct: float
) -> Doubt:
    return Doubt(
        "copies differ",
        f"{where}: {format_bytes(written_bytes)} were written, {format_change(off_pct)} "
        f"against the {format_bytes(wanted_bytes)} that copies and checksums take",
        advice=(
            "if it is more, something else wrote to the disk. If it is less, data were "
            "still in memory, a copy is missing, or a counter is wrong. With little data "
            "the file system's own writes can be that many"
        ),
    )
