"""How far predictions were off on real parts, and what made them worse. Pure.

Errors are logarithms that nine in ten stay below (docs/research/PREDICTION.md).
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from orchestrator import facts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes.outside_causes import HOST_PCT
from orchestrator.analysis.telemetry.use import node_use
from orchestrator.analysis.telemetry.use.node_values import HostUse


class Errors(NamedTuple):
    """By whether the tier is slower or faster than the measured one."""

    downwards: float
    upwards: float

    def of(self, upwards: bool) -> float:
        if upwards:
            return self.upwards
        return self.downwards


_RATES = Errors(0.2, 0.3)  # errors of rates and averages
TAIL_ERRORS = Errors(1.1, 1.4)  # errors of percentiles
# What is added, as variances, so that each miss that was measured is inside: a factor of 2.6 at
# most beside a machine full of other work, and 1.8 where a faster tier is bound by CPU.
_BESIDE_OTHERS = 0.8
_BOUND_BY_CPU = 0.52
_CPU_CAUSES = ("cpu_bound", "client_bound", "machine_bound")
# Share of the machine's CPU that others used, from which its runs are no trial of an idle machine.
OTHERS_PCT = 25.0
FULL_OF_OTHERS = "other work filled the machine's CPU"


def rate_error(
    upwards: bool, limit: facts.BottleneckCause, beside_others: bool, wider: float
) -> float:
    """The error of a rate or an average. `limit`: of the tier that is predicted. `beside_others`:
    whether other work filled the machine. `wider`: by how much more a cap hid."""
    error = wider * _RATES.of(upwards)
    if beside_others:
        error = math.hypot(error, _BESIDE_OTHERS)
    # An idle CPU takes longer for the same work, and how much longer no run says.
    if upwards and limit in _CPU_CAUSES:
        error = math.hypot(error, _BOUND_BY_CPU)
    return error


def are_beside_others(runs: Iterable[RunData], cpus: float | None) -> bool:
    """Whether other work filled the machine in one of these runs: how busy it is while another tier
    runs is then not known."""
    for run in runs:
        for values in node_use.gather(run, cpus).values():
            if _is_full_of_others(values.host):
                return True
    return False


def _is_full_of_others(host: HostUse) -> bool:
    low_pct = host.low_priority_pct or 0.0
    stolen_pct = host.steal_pct or 0.0
    others_pct = low_pct + stolen_pct + (host.other_cpu_pct or 0.0)
    busy_pct = low_pct + stolen_pct + (host.host_cpu_pct or 0.0)
    return busy_pct >= HOST_PCT and others_pct >= OTHERS_PCT
