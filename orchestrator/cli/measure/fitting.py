"""Profiles and workloads that fit each other: data of the sizes asked for, nodes with room for
them, and what each value of a factor needs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.cli.common.app import PLATFORM
from orchestrator.cli.measure.reading import PlanDraft
from orchestrator.design import factors, machines, varied_profiles
from orchestrator.errors import Mistake
from orchestrator.facts import Varied
from orchestrator.keys.refusals import raise_all
from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import sizes
from orchestrator.planning.data_sizes import data_bytes


@dataclass(frozen=True)
class Fitted:
    """Profiles on their nodes and workloads, with what must be said about them."""

    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    notes: tuple[Note, ...] = ()


def fitted(draft: PlanDraft, workloads: Sequence[Workload]) -> Fitted:
    """Profiles on their nodes and these workloads, with data of the sizes asked for, for which
    disks have room. UsageError where a factor cannot be varied."""
    sized = Fitted(draft.profiles, tuple(workloads))
    if draft.request.data:
        size = factors.data_size(draft.request.data)
        sized = Fitted(*sizes.with_data(draft.profiles, workloads, size))
    if draft.values:
        return _fitted_to_values(draft, sized)
    return sized


def _fitted_to_values(draft: PlanDraft, sized: Fitted) -> Fitted:
    """Profiles and workloads that can have each value of the factor that is varied."""
    values = draft.values
    option = factors.option(values[0])
    _check_misfits(option, values, sized, draft.platform == PLATFORM)
    # Fewer nodes may have fewer copies, and then two things would differ.
    profiles, notes = _with_common_copies(sized.profiles, values)
    loads = sized.workloads
    if values[0].factor == factors.DATA:
        loads = tuple(_with_size(profiles, load) for load in loads)
        _check_sizes_differ(option, loads)
    # Disks of one size at all values, else two things would differ between them.
    largest = _largest_bytes(loads)
    # Disks are sized for the data in the files: only more data need larger ones.
    if largest > _largest_bytes(draft.of_files):
        profiles = list(sizes.with_room(profiles, largest))
    return Fitted(tuple(profiles), loads, (*sized.notes, *notes))


def _with_common_copies(
    profiles: Sequence[Profile], values: Sequence[Varied]
) -> tuple[list[Profile], list[Note]]:
    """The profiles with as many copies as all values can have.

    A note says where these are fewer.
    """
    common_profiles = []
    notes = []
    for profile in profiles:
        common, text = varied_profiles.with_common_copies(profile, values)
        common_profiles.append(common)
        if text:
            notes.append(Note("other", text, profile.name))
    return common_profiles, notes


def _check_misfits(
    option: str, values: Sequence[Varied], sized: Fitted, is_docker: bool
) -> None:
    """UsageError with each profile and workload that cannot vary the factor."""
    reasons: dict[str, str] = {}
    for profile in sized.profiles:
        is_one_engine = is_docker and not machines.named(profile)
        reasons[profile.name] = varied_profiles.misfit(profile, values, is_one_engine)
    for load in sized.workloads:
        reasons[load.name] = varied_profiles.misfit_of(load)
    mistakes = []
    for name, reason in reasons.items():
        if reason:
            mistakes.append(Mistake(f"{option}: {name}", reason))
    raise_all(mistakes)


def _check_sizes_differ(option: str, loads: Sequence[Workload]) -> None:
    """UsageError with each workload that has the same data at two values."""
    times: Counter[tuple[str, str]] = Counter()
    for load in loads:
        if load.varied is not None:
            # The key is a text, because a data set holds a dictionary and so cannot be a key.
            times[load.varied.of, str(load.dataset)] += 1
    mistakes = []
    for (name, _), count in times.items():
        if count > 1:
            mistakes.append(Mistake(f"{option}: {name}", _DATA_ALIKE))
    raise_all(mistakes)


_DATA_ALIKE = (
    "two values give the same data, because its tables start empty or "
    "because one warehouse is the least. Name sizes that differ, or "
    "vary what a load writes, as batch=1000,10000"
)


def _largest_bytes(loads: Sequence[Workload]) -> int:
    # A data set without a size of its own (None) needs no room.
    return max(data_bytes(load) or 0 for load in loads)


def _with_size(profiles: Sequence[Profile], load: Workload) -> Workload:
    """The workload with as much data as its value says. Values are then ordered by size."""
    value = load.varied
    if value is None:
        return load
    _, loads, _ = sizes.with_data(profiles, [load], factors.size_asked(value))
    # `4x` of memory is a number of bytes only now that the nodes are known.
    return replace(loads[0], varied=replace(value, number=data_bytes(loads[0])))
