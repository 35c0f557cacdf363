"""Whether two campaigns differ in time alone, so that their figures may be compared. Pure.

Another code revision or image may be what one wants to compare: it is allowed and said.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.analysis import differences, results
from orchestrator.analysis.campaigns.machine_differences import unlike_machines
from orchestrator.analysis.comparability import among, obstacle
from orchestrator.analysis.differences import Difference
from orchestrator.analysis.results import Cell, Results, RunData
from orchestrator.analysis.subjects import Subject, Topic
from orchestrator.design import rehearsal
from orchestrator.facts import group
from orchestrator.texts.prose import first_few, listed
from orchestrator.tier import Tier, as_written
from orchestrator.units import gathered

# Words about a tier, not the tier; how its data are put back does not change them.
_NOT_THE_DISK = frozenset(
    {
        "name",
        "title",
        "catalog_type",
        "snapshots",
        "price",
        "source",
        "as_of",
        "notes",
        "vm_caps",
        "vm_limits",
        "product",
        # What it does on its machine counts, and is among the limits.
        "bought_iops",
        "bought_bytes_per_s",
    }
)


def obstacle_over_time(
    before: Results, after: Results, cell: Cell, across: Collection[str] = ()
) -> str:
    """Why the figures of a profile × workload must not be compared; empty if they may be.

    Both campaigns have finished runs of it. `across`: "machines": machines of other names count as
    one if they are of the same kind; "tiers": the profile's disk may have been changed.
    """
    runs_before = results.finished(before, *cell)
    runs_after = results.finished(after, *cell)
    both = (*runs_before, *runs_after)
    unlike: list[str] = []
    for difference in unlike_machines(before, after, "machines" in across):
        unlike.append(str(difference))
    if "tiers" not in across:
        unlike += changes_of_tier(_tier(runs_before), _tier(runs_after))
    unlike += differences.in_words(_file_systems(runs_before, runs_after))
    unlike += differences.in_words(among(both))
    # What differs between the campaigns comes before what is wrong with one of them.
    if unlike:
        return f"unlike {'; '.join(unlike)}"
    for run in both:
        if rehearsal.is_rehearsed(run.record.profile, run.record.workload):
            return rehearsal.WARNING
    return obstacle(both)


def _tier(runs: Sequence[RunData]) -> Tier:
    return runs[0].record.profile.tier


def changes_of_tier(before: Tier, after: Tier) -> Iterator[str]:
    """What differs between two disks as declared."""
    left = as_written(before)
    right = as_written(after)
    for key in left | right:
        first = left.get(key)
        second = right.get(key)
        if key not in _NOT_THE_DISK and first != second:
            yield f"tier's {key}{_in_short(first, second)}"


def _in_short(left: object, right: object) -> str:
    """Both values, unless one of them is a table of its own."""
    short = (int, float, str, type(None))
    if isinstance(left, short) and isinstance(right, short):
        return f" {left} against {right}"
    return ""


def _file_systems(
    left: Sequence[RunData], right: Sequence[RunData]
) -> Iterator[Difference]:
    """Compared where both sides recorded them."""
    subject = Subject(Topic.FILE_SYSTEM)
    systems_left = _file_systems_of(left)
    systems_right = _file_systems_of(right)
    if systems_left and systems_right:
        yield from differences.unlike({subject: systems_left}, {subject: systems_right})


def _file_systems_of(runs: Sequence[RunData]) -> set[str]:
    """Kinds and mount options, each once."""
    systems: set[str] = set()
    for run in runs:
        by_node = results.identity(run.record).file_systems
        systems.update([str(system) for system in by_node.values()])
    return systems


# ------------------------------------------------------------------ what is allowed, and said


def remarks(before: Results, after: Results) -> Iterator[str]:
    """Differences that are allowed and said, and what cannot be known, a sentence each."""
    for campaign in (before, after):
        for text in first_few(results.left_out(campaign)):
            yield f"{campaign.name}: {text}"
    yield from _other_names(before, after)
    yield from _other_code(before, after)
    yield from _other_engine(before, after)
    yield from _other_images(before, after)
    for campaign in (before, after):
        yield from _unrecorded(campaign)


def _other_names(before: Results, after: Results) -> Iterator[str]:
    """Differences in the names of machines."""
    # Such campaigns are compared only if that was asked for.
    first = _host(before).get("hostname")
    second = _host(after).get("hostname")
    if first and second and first != second:
        doubt = "what differs between two machines of a kind is in every difference"
        yield f"they were measured on machines of other names ({first} and {second}): {doubt}"


def _other_code(before: Results, after: Results) -> Iterator[str]:
    first = revision(before)
    second = revision(after)
    if first and second and first != second:
        yield f"they were measured by other code: tierbench {first} against {second}"
    # Changes that are in no revision have no name: two of them cannot be told apart.
    elif first and before.fingerprint.get("revision_changed"):
        yield f"both were measured with changes to tierbench {first}: the changes may differ"


def _other_engine(before: Results, after: Results) -> Iterator[str]:
    first = before.fingerprint.get("engine")
    second = after.fingerprint.get("engine")
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return
    unlike: list[str] = []
    for key in dict.fromkeys((*first, *second)):
        if str(first.get(key)) != str(second.get(key)):
            unlike.append(key)
    if unlike:
        yield f"the container engine was another, or set otherwise: {listed(unlike)} differ"


def _other_images(before: Results, after: Results) -> Iterator[str]:
    first = _images(before)
    second = _images(after)
    for role in first:
        if role not in second:
            continue
        left = _in_order(first[role])
        right = _in_order(second[role])
        if left != right:
            unlike = f"images of the {role} differ ({left} against {right})"
            yield f"{unlike}: libraries in them may too"


def _images(campaign: Results) -> dict[str, list[Any]]:
    """Role of a container → the images that its runs had."""
    pairs: list[tuple[str, Any]] = []
    for run in campaign.runs:
        pairs += results.identity(run.record).images.items()
    return gathered(pairs)


def _in_order(images: Sequence[object]) -> str:
    return ", ".join(sorted({str(image) for image in images}))


def revision(campaign: Results) -> str:
    """`0.1.0 (1a2b3c4d5e6f, with changes)`; empty if no revision was recorded."""
    facts = campaign.fingerprint
    if not facts.get("revision"):
        return ""
    changed = ""
    if facts.get("revision_changed"):
        changed = ", with changes"
    version = facts.get("tierbench", "")
    short_hash = str(facts["revision"])[:12]
    return f"{version} ({short_hash}{changed})".strip()


def _unrecorded(campaign: Results) -> Iterator[str]:
    """What older programs did not record."""
    host = _host(campaign)
    records = [run.record for run in campaign.done]
    absent: list[str] = []
    if not host.get("hostname"):
        absent.append("the machine")
    # The kernel is not missed if the machine is unknown.
    elif not host.get("kernel"):
        absent.append("its kernel")
    if not campaign.fingerprint.get("revision"):
        absent.append("the code revision")
    if not all(results.generator(record).version for record in records):
        absent.append("the load generator's version")
    if not all("identity" in record.facts for record in records):
        absent.append("scripts, images and mount options")
    if absent:
        yield f"not recorded in {campaign.name}, and so not compared: {listed(absent)}"


def _host(campaign: Results) -> Mapping[str, Any]:
    return group(campaign.fingerprint, "host")
