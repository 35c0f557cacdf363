"""What is known of HDFS to the byte: what its copies and their checksums take on disks."""

from collections.abc import Iterator

from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use import conservation
from orchestrator.model import Doubt
from orchestrator.units import format_bytes, format_change

COPIES_PCT = 1.0  # of what copies and checksums take


def copies_differ(run: RunData) -> Iterator[Doubt]:
    """All disks against the payload, then each disk against its data node's own account."""
    copies_bytes = conservation.of_copies(run)
    if not copies_bytes:
        return
    written_to_disks = conservation.written(run)
    together = "all disks together"
    wanted_of = {together: copies_bytes, **conservation.of_node(run)}
    written_of = {together: sum(written_to_disks.values()), **written_to_disks}
    for where, wanted in wanted_of.items():
        written = written_of.get(where, 0.0)
        if not wanted:
            continue
        off_pct = 100 * (written / wanted - 1)
        if abs(off_pct) > COPIES_PCT:
            yield _copies_differ(where, written, wanted, off_pct)


def _copies_differ(
    where: str, written_bytes: float, wanted_bytes: float, off_pct: float
) -> Doubt:
    return Doubt(
        "copies differ",
        f"{where}: {format_bytes(written_bytes)} were written, {format_change(off_pct)} "
        f"against the {format_bytes(wanted_bytes)} that copies and checksums take",
        advice=(
            "if it is more, something else wrote to the disk. If it is less, "
            "data were still in memory, a copy is missing, or a counter is "
            "wrong. With little data the file system's own writes are as much"
        ),
    )
