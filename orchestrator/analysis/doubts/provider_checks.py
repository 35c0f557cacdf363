"""Doubts about what a provider gave a run: other disks and machines, and copies of data. Pure."""

from collections.abc import Iterator

from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.model import Doubt


def cloud(run: RunData, _: Totals) -> Doubts:
    """Doubts by what the cloud's metadata service and Kubernetes say."""
    for difference in run.record.read_facts.cloud.differences:
        yield _another_disk(difference)
    vm = run.record.profile.cluster.vm or ""
    if not vm:
        return
    # The catalog's name has the provider before the cloud's own.
    meant = vm.split("/")[-1]
    for machine in dict.fromkeys(_machines(run)):
        if machine and machine.lower() != meant.lower():
            yield _another_machine(machine, vm)


def _machines(run: RunData) -> Iterator[str]:
    """The kinds of the machines that were there, by the cloud's names."""
    cloud_facts = run.record.read_facts.cloud
    # Earlier programs kept them in one text alone.
    if cloud_facts.machines is None:
        yield from (cloud_facts.machine or "").split(", ")
    else:
        yield from cloud_facts.machines
    for kind in results.identity(run.record).machine_types.values():
        yield str(kind)


def restored(run: RunData, _: Totals) -> Doubts:
    """How the data of this run came to its real disk."""
    facts = run.record.read_facts.restored
    if facts.way == "reflink":
        yield _shared_blocks()
    if facts.quiet is False:
        yield _disk_not_quiet()
    # AWS documents that volumes fetch a block when it is first read. Azure's copy in the
    # background.
    if facts.way in ("snapshot", "claim"):
        yield _copied_volume(facts.way)


# ------------------------------------------------------------------ in words


def _another_disk(difference: str) -> Doubt:
    return limits_the_answer(
        "another disk than declared",
        difference,
        advice="correct the profile, or the disk; compare only what was bought",
    )


def _another_machine(here: str, meant: str) -> Doubt:
    return limits_the_answer(
        "another disk than declared",
        f"a node runs on a {here}, but the profile says {meant}",
        advice="correct `vm` in the profile, or use that machine: its caps limit the "
        "disks too",
    )


def _shared_blocks() -> Doubt:
    return is_only_told(
        "shared blocks",
        "the data were restored as reflinks. The first write to a shared block copies it: "
        "the disk does more than the database asks for",
        advice="set `snapshots: copy` for runs that write (docs/TIERS.md)",
    )


def _disk_not_quiet() -> Doubt:
    return is_only_told(
        "disk not quiet",
        "when the run began, the disk was still busy with something else",
        advice="see what else uses it, such as a trim or a check of a RAID",
    )


def _copied_volume(way: str) -> Doubt:
    """`way`: what volumes were copied from, "snapshot" or "claim"."""
    return is_only_told(
        "copied volume",
        f"the volumes were copies of a {way}. All data were read once before, but a cloud "
        "may still fill such a disk in the background. Until then it is slower",
        advice="set `snapshots: none`, so that each run loads its data, and see whether "
        "figures differ",
    )
