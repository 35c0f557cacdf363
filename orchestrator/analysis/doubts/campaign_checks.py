"""Doubts about a whole campaign, each with what to do about it. Pure."""

from collections.abc import Callable, Mapping, Sequence

from orchestrator.analysis import comparability, differences, results, run_values
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import Results
from orchestrator.design import enforcement, latency_quantiles, rehearsal
from orchestrator.model import Doubt, Note, Profile
from orchestrator.tier import DiskKind
from orchestrator.units import gathered

# Two repetitions answer only where tiers are far apart (docs/METHOD.md).
GOOD_REPETITIONS = 5


def rehearsed(campaign: Results) -> Doubts:
    """First of all: then there are no figures to doubt one by one."""
    for cell in results.cells(campaign):
        if rehearsal.is_rehearsed(cell.profile, cell.workload):
            yield limits_the_answer("rehearsal", rehearsal.WARNING, rehearsal.ADVICE)
            return


# ------------------------------------------------------------------ cells


def cells(campaign: Results) -> Doubts:
    """Doubts about cells that were measured once, or not at all."""
    planned = list(results.cells(campaign))
    single = [cell.title for cell in planned if len(cell.finished) == 1]
    if single:
        yield _measured_once(campaign, single)
    for cell in planned:
        if cell.missing:
            was_excluded = bool(cell.excluded)
            yield _missing_cell(cell.title, cell.without_figures, was_excluded)


def _measured_once(campaign: Results, titles: Sequence[str]) -> Doubt:
    # One repetition was planned so. Else runs of some cells were lost.
    if campaign.plan.repeats.repetitions == 1:
        return _one_repetition()
    return _one_repetition_of_some(titles)


# ------------------------------------------------------------------ disks


def not_the_real_disk(campaign: Results) -> Doubts:
    profiles = campaign.plan.tiers
    by_kind = gathered((profile.tier.disk.kind, profile) for profile in profiles)
    for disk, profiles_of_kind in by_kind.items():
        # A real disk is what it is taken for.
        doubt = _NOT_THE_REAL_DISK.get(disk)
        if doubt:
            names = ", ".join([profile.name for profile in profiles_of_kind])
            yield doubt(names, _tails(profiles_of_kind))
    unlike = enforcement.unlike_disks(profiles)
    if unlike is not None:
        yield _unlike_disks(unlike.text)


def _tails(profiles: Sequence[Profile]) -> str:
    """What is known of their latencies' distribution, `; latency of gp3, io2: constant`."""
    by_tail = gathered(
        (latency_quantiles.described(profile.tier), profile.name)
        for profile in profiles
    )
    texts = ""
    for tail, names in by_tail.items():
        if tail:
            texts += f"; latency of {', '.join(names)}: {tail}"
    return texts


def vm_caps(campaign: Results) -> Doubts:
    for profile in campaign.plan.tiers:
        for cap in profile.tier.origin.vm_caps:
            yield _vm_caps_the_disk(profile.name, cap.text)


# ------------------------------------------------------------------ what was not as asked, or alike


def said_beforehand(campaign: Results) -> Doubts:
    for note in campaign.plan.notes:
        if note.kind == "fewer nodes":
            yield _fewer_nodes(note)
        elif note.kind == "nodes as asked":
            yield _nodes_as_asked(note)
        elif note.kind == "one disk of several":
            yield _one_disk_of_several(note)
        elif note.kind == "gone on despite":
            yield _gone_on_despite(note.text)
        elif note.kind == "published figures":
            yield _published_figures(note.text)


def comparable(campaign: Results) -> Doubts:
    """A doubt if runs are not comparable, or if that is not known."""
    runs_of: dict[str, list[results.RunData]] = {}
    for cell in results.cells(campaign):
        if cell.finished:
            runs_of.setdefault(cell.workload.name, []).extend(cell.finished)
    for workload, runs in runs_of.items():
        # All runs of a workload, as its tiers are compared with each other.
        unlike = comparability.among(runs)
        if unlike:
            yield _unlike_runs(workload, differences.in_words(unlike))
    unknown = run_values.not_known([run.record for run in campaign.done])
    if unknown:
        yield _not_compared(unknown)


# ------------------------------------------------------------------ in words


def _published_figures(text: str) -> Doubt:
    return is_only_told(
        "published figures",
        text,
        advice="compare them with the source; `tierbench compare` measures such a plan here",
    )


def _one_repetition() -> Doubt:
    return is_only_told(
        "one repetition",
        "every cell was measured once: a difference cannot be told from chance",
        advice=f"repeat with `--repeats {GOOD_REPETITIONS}`",
    )


def _one_repetition_of_some(cells: Sequence[str]) -> Doubt:
    return is_only_told(
        "one repetition",
        f"only one repetition finished of {', '.join(cells)}: it has no interval",
        advice=f"repeat with `--repeats {GOOD_REPETITIONS}`",
    )


def _missing_cell(cell: str, without: str, was_excluded: bool) -> Doubt:
    """`without`: what it lacks, "no finished run"."""
    cause = "its run's failure"
    if was_excluded:
        cause = "why its runs were excluded"
    return is_only_told(
        "missing cell",
        f"{cell} has {without} and is left out of every comparison",
        advice=f"see {cause}, then run the campaign again",
    )


def _emulated_tier(tiers: str, tails: str) -> Doubt:
    """`tails`: what is known of their latencies' distribution, `; latency of gp3: …`."""
    return is_only_told(
        "emulated tier",
        f"the disks of {tiers} are emulated on this machine: limits are the tier's, absolute "
        f"figures are this machine's{tails}",
        advice="use the differences between tiers; for absolute figures run on the "
        "provider's disks (`enforcement: mounted`)",
    )


def _none_tier(tiers: str, tails: str) -> Doubt:
    return limits_the_answer(
        "none tier",
        f"the disks of {tiers} are not limited: their figures say nothing about a tier"
        f"{tails}",
        advice="use `enforcement: emulated`, or `mounted` on the tier's own disk",
    )


def _unlike_disks(text: str) -> Doubt:
    return limits_the_answer(
        "unlike disks", text, advice="give all profiles the same `enforcement`"
    )


def _vm_caps_the_disk(profile: str, cap: str) -> Doubt:
    return is_only_told(
        "VM caps the disk",
        cap,
        advice="take a larger VM or a smaller disk: the VM cannot use what is bought above "
        "its cap",
        profile=profile,
    )


def _fewer_nodes(note: Note) -> Doubt:
    return limits_the_answer(
        "fewer nodes",
        note.text,
        advice="run on a machine with two cores per node, or set --nodes to start them here",
        profile=note.profile,
    )


def _nodes_as_asked(note: Note) -> Doubt:
    return limits_the_answer(
        "fewer nodes",
        note.text,
        advice="leave --nodes out on a machine with two cores per node",
        profile=note.profile,
    )


def _one_disk_of_several(note: Note) -> Doubt:
    return is_only_told(
        "one disk of several",
        note.text,
        advice="give each disk a profile of its own (`path`) and compare them",
        profile=note.profile,
    )


def _gone_on_despite(note: str) -> Doubt:
    return limits_the_answer(
        "gone on despite",
        note,
        advice="run the campaign again: this may make runs before and after it differ",
    )


def _unlike_runs(workload: str, unlike: Sequence[str]) -> Doubt:
    return is_only_told(
        "unlike runs",
        f"runs of {workload} differ in more than the tier, so they are not compared: "
        f"{'; '.join(unlike)}",
        advice="make the profiles equal in everything but `tier`, and run them in one "
        "campaign",
    )


def _not_compared(unknown: Sequence[str]) -> Doubt:
    return limits_the_answer(
        "not compared",
        "clusters that others run may differ in more than their disks. Not known of all of "
        f"them: {'; '.join(unknown)}",
        advice="declare the same `node_exporters`, `masters` and `tservers` for each of them",
    )


# Doubt for each kind of disk that is not the tier's own, by its profiles and their tails.
_NOT_THE_REAL_DISK: Mapping[DiskKind, Callable[[str, str], Doubt]] = {
    "emulated": _emulated_tier,
    "none": _none_tier,
}
