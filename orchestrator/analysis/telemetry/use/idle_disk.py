"""How long an I/O takes on a disk that has nothing else to do. Pure."""

from orchestrator.facts import GateQuantity
from orchestrator.tier import Gate, Tier, Way


def idle_latency_s(
    tier: Tier, gate: Gate | None, reads: float, writes: float, node: str = ""
) -> float | None:
    """Time of an I/O of this mix on the idle disk: declared, else as the gate measured it, on the
    disk of `node` if each has its own. What is only assumed of a real disk comes last."""
    read_s = _idle_s(tier, "read", _gate_latency_s(gate, "latency_read", node))
    write_s = _idle_s(tier, "write", _gate_latency_s(gate, "latency_write", node))
    if reads + writes <= 0:
        return None
    # The mean of the mix needs both, as far as both are done.
    if reads > 0 and read_s is None:
        return None
    if writes > 0 and write_s is None:
        return None
    took_s = reads * (read_s or 0.0) + writes * (write_s or 0.0)
    return took_s / (reads + writes)


def _idle_s(tier: Tier, way: Way, measured_s: float | None) -> float | None:
    declared_s = tier.latency.seconds(way)
    # An emulated disk has the latency that is declared, assumed or not; a real one has its own.
    is_assumed = tier.disk.is_real and way in tier.latency.assumed
    if declared_s and not is_assumed:
        return declared_s
    return measured_s or declared_s


def _gate_latency_s(
    gate: Gate | None, quantity: GateQuantity, node: str
) -> float | None:
    """The latency that the disk check measured on the disk of `node`, else on the first one."""
    if gate is None:
        return None
    checks = []
    for check in gate.checks:
        if check.is_of_log:
            continue
        if check.quantity == quantity and check.measured > 0:
            checks.append(check)
    node_checks = [check for check in checks if node in check.nodes]
    for check in node_checks or checks:
        return check.measured
    return None
