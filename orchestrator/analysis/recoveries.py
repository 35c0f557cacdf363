"""Whether a load was seen as before a slow disk again, and if not, why. Pure."""

from typing import Literal

from orchestrator.analysis import metric_values, overload
from orchestrator.design import slow_disks
from orchestrator.model import Record

# Why a run with a slow disk has no time to recover.
RecoveryGap = Literal["nothing before", "ended too soon", "not recovered"]


def recovery_gap(record: Record) -> RecoveryGap | None:
    """Why no time to recover is known; None if the load recovered, or had nothing to recover to.

    It has not where no disk was slow, or its queue grew before.
    """
    if not record.workload.slow:
        return None
    if metric_values.value_of(record, "recovery_s") is not None:
        return None
    # The note on the pace says that the queue grew before: there is nothing to recover to.
    if overload.overloaded(record) and not overload.only_with_slow_disk(record):
        return None
    before_per_s = metric_values.value_of(
        record, "throughput_per_s", slow_disks.BEFORE_SLOW_SCOPE
    )
    if not before_per_s:
        return "nothing before"
    if left_to_recover_s(record) < slow_disks.LEFT_TO_RECOVER_S:
        return "ended too soon"
    return "not recovered"


def left_to_recover_s(record: Record) -> float:
    """How long the window goes on after its slow disk."""
    load = record.workload
    slow = slow_disks.slow_time(load.slow, load.measure_s)
    if slow is None:
        return 0.0
    return load.measure_s - slow.end_s
