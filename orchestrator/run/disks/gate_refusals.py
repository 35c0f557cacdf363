"""Why nothing is measured on a disk: its gate did not pass."""

from collections.abc import Iterator

from orchestrator import errors
from orchestrator.facts import GateWord
from orchestrator.run.disks import busy_machines
from orchestrator.tier import Gate
from orchestrator.units import format_quantity


def require_passed(gate: Gate) -> None:
    """GateError if the disk is not what its tier declares, or this machine was too busy to tell."""
    if gate.passed:
        return
    misses = "; ".join(_misses(gate))
    busy = " and ".join(busy_machines.reasons(gate))
    # A good disk can fail on a busy machine, so there the advice is another one.
    if busy:
        raise _busy_machine(gate.tier, misses, busy)
    raise errors.GateError(
        f"the disk of {gate.tier} is not what the tier declares: {misses}",
        advice="figures made on it would say nothing about the tier: see docs/TIERS.md",
    )


def _busy_machine(tier: str, misses: str, busy: str) -> errors.GateError:
    return errors.GateError(
        f"the disk of {tier} is not what the tier declares: {misses}. "
        f"This machine was busy during the check: {busy}",
        advice=(
            "stop other programs on this machine and try again; on a busy "
            "machine a good disk can fail"
        ),
    )


def _misses(gate: Gate) -> Iterator[str]:
    """What is wrong, disk by disk where the tier names several."""
    limits_of_disks: dict[tuple[str, GateWord], list[str]] = {}
    for check in gate.checks:
        if check.passed:
            continue
        measured = f"measured {format_quantity(check.measured, check.unit)}"
        if check.declared is not None:
            measured += f", declared {format_quantity(check.declared, check.unit)}"
        if not check.disk:
            yield f"{check.limit} {check.verdict}: {measured}"
            continue
        limits = limits_of_disks.setdefault((check.disk, check.verdict), [])
        limits.append(f"{check.limit} {measured}")
    for (disk, verdict), limits in limits_of_disks.items():
        is_wrong = f"is {verdict}"
        if verdict == "failed":
            is_wrong = "failed"
        yield f"{disk} {is_wrong}: {', '.join(limits)}"
