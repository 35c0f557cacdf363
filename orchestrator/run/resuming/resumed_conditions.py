"""Whether the rest of a campaign would be measured as its first runs were: by the same code, with
the same images, on the same machine, with profiles and workloads as they were run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import facts
from orchestrator.analysis import results
from orchestrator.analysis.campaigns import comparable_campaigns, machine_differences
from orchestrator.design.used_profiles import as_used
from orchestrator.keys import plain_files
from orchestrator.keys.secret_names import HIDDEN
from orchestrator.model import Plan, Record
from orchestrator.system import campaign_folders


def differences(
    before: results.Results, folder: Path, facts_now: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Aspect → what it was in the first part against what it is; of what both sides know."""
    # The first part alone is compared: differences of later parts were allowed then.
    first = replace(before, later_fingerprints=())
    now = replace(first, fingerprint=facts_now)
    before_code = comparable_campaigns.revision(first)
    code = comparable_campaigns.revision(now)
    # A revision that one side does not know is no difference.
    if before_code and code and before_code != code:
        yield "code", f"tierbench {before_code} against {code}"
    kept = first.fingerprint
    unlike = [
        *_unlike_images(_group(kept, "images"), _group(facts_now, "images")),
        *_unlike_packages(_group(kept, "packages"), _group(facts_now, "packages")),
    ]
    if unlike:
        yield "image", ", ".join(unlike)
    machines = list(_without_fingerprint(before, folder))
    kernels: list[str] = []
    for difference in machine_differences.unlike_machines(first, now, across=False):
        # A kernel is updated on the same machine, so it is an aspect of its own.
        if difference.is_of_kernel:
            kernels.append(str(difference))
        else:
            machines.append(str(difference))
    if machines:
        yield "machine", ", ".join(machines)
    if kernels:
        yield "kernel", ", ".join(kernels)
    yield from plan_differences(before)


def never_kept(before: results.Results, folder: Path) -> list[str]:
    """The fingerprints of later parts that are not there. Earlier versions kept none."""
    names: list[str] = []
    for part in range(2, 2 + len(before.later_fingerprints)):
        name = campaign_folders.fingerprint_name(part)
        if plain_files.kind_of(folder / name) == "nothing":
            names.append(name)
    return names


def _without_fingerprint(before: results.Results, folder: Path) -> Iterator[str]:
    """Parts of which nothing says what measured them: a file that is missing, was cut, or is not as
    it was written."""
    missing = never_kept(before, folder)
    fingerprints = (before.fingerprint, *before.later_fingerprints)
    for part, fingerprint in enumerate(fingerprints, start=1):
        name = campaign_folders.fingerprint_name(part)
        if name in before.changed_files:
            yield f"{name} was changed after it was written"
        elif name in missing:
            yield (
                f"{name} is not there; earlier versions of tierbench kept no "
                f"fingerprint of part {part}"
            )
        elif not facts.group(fingerprint, "host").get("hostname"):
            yield f"{name} does not say what measured part {part}"


def plan_differences(before: results.Results) -> Iterator[tuple[str, str]]:
    """What differs between the profiles and workloads as run, and those of the plan that stands
    now."""
    unlike_profiles: set[str] = set()
    unlike_workloads: set[str] = set()
    for data in before.runs:
        record = data.record
        if _workload_differs(record, before.plan):
            unlike_workloads.add(record.run.workload)
        elif _profile_differs(record, before.plan):
            unlike_profiles.add(record.run.profile)
    if unlike_profiles:
        yield "profile", _against_plan(unlike_profiles)
    if unlike_workloads:
        yield "workload", _against_plan(unlike_workloads)


def _workload_differs(record: Record, plan: Plan) -> bool:
    """Whether the plan has another workload of that name, or none."""
    for load in plan.measured:
        if load.name == record.run.workload:
            return load != record.workload
    return True


def _profile_differs(record: Record, plan: Plan) -> bool:
    """Whether the profile differs from that of the record, as this workload uses it."""
    for profile in plan.profiles:
        if profile.name == record.run.profile:
            return as_used(profile, record.workload) != record.profile
    return True


def _group(fingerprint: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return facts.group(fingerprint.get(name))


def _against_plan(names: set[str]) -> str:
    return f"{', '.join(sorted(names))} as measured against plan.json"


def _unlike_images(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Images of the runs before that are others now, or gone."""
    new = ", ".join(sorted(now.keys() - before.keys()))
    unlike: list[str] = []
    for tag in before:
        if tag not in now:
            unlike.append(f"{tag} against {new or 'none'}")
    for tag, identity in before.items():
        # An id that one side could not look up is no difference.
        if identity and now.get(tag) and identity != now[tag]:
            unlike.append(f"{tag} {identity} against {now[tag]}")
    return unlike


def _unlike_packages(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Images of ours that were built anew with other packages: their tags are the same."""
    unlike: list[str] = []
    # Tags that are on one side alone are told as images already.
    for tag in sorted(before.keys() & now.keys()):
        earlier = _versions(before[tag])
        later = _versions(now[tag])
        unlike += [f"{text} in {tag}" for text in _unlike_versions(earlier, later)]
    return unlike


def _unlike_versions(
    earlier: Mapping[str, str], later: Mapping[str, str]
) -> Iterator[str]:
    for package in sorted(earlier.keys() | later.keys()):
        version = earlier.get(package, "none")
        version_now = later.get(package, "none")
        # Earlier releases hid the version of a package such as `passwd`, like a password.
        is_known = HIDDEN not in f"{version} {version_now}"
        if is_known and version != version_now:
            yield f"{package} {version} against {version_now}"


def _versions(recorded: object) -> Mapping[str, str]:
    """Package → version. Earlier releases recorded it so; now a package is one text."""
    if not isinstance(recorded, (list, tuple)):
        return facts.group(recorded)
    versions: dict[str, str] = {}
    for package in recorded:
        name, _, version = str(package).partition(" ")
        versions[name] = version
    return versions
