"""Real disks as they were found: what the machine, the truth gate and the cloud told of each."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator import units
from orchestrator.facts import GateFacts, group
from orchestrator.report.blocks import Cell, Paragraph, Part, table_of
from orchestrator.report.report_index import ReportIndex
from orchestrator.texts import prose

_NUMERIC = ("Size", "Read-ahead")


def as_found(index: ReportIndex) -> Iterator[Part]:
    """Device, queue, file system and identity of all real disks; nothing if there are none."""
    rows: list[dict[str, Cell | str]] = []
    for profile in index.profiles:
        rows.extend(_disk_rows(index, profile.name))
    # Emulated disks are made here, so there is nothing to find of them.
    if rows:
        words = [title for title in rows[0] if title not in _NUMERIC]
        yield Part("As found", (table_of(rows, words), *_cloud_failures(index)))


def _cloud_failures(index: ReportIndex) -> Iterator[Paragraph]:
    """Why the cloud told nothing, where it did not."""
    for profile in index.profiles:
        failure = _recorded(index, profile.name, "cloud").get("failure")
        # Empty cells alone would seem to say that the disks are of no cloud.
        if failure:
            yield Paragraph(str(failure), lead=profile.name)


def _recorded(index: ReportIndex, profile: str, name: str) -> Mapping[str, Any]:
    """A group of the facts about the tier, as the first of its runs recorded them."""
    for run in index.campaign.runs:
        tier = run.record.facts.get("tier")
        if run.record.run.profile == profile and isinstance(tier, Mapping):
            return group(tier, name)
    return {}


def _gated_disks(index: ReportIndex, profile: str) -> Mapping[str, GateFacts]:
    """Path → what the truth gate noted of the disk there, beside its figures."""
    for run in index.campaign.runs:
        gate = run.record.gate
        if run.record.run.profile == profile and gate is not None:
            return gate.facts_of_disks
    return {}


def _disk_rows(index: ReportIndex, profile: str) -> Iterator[dict[str, Cell | str]]:
    by_cloud = group(_recorded(index, profile, "cloud"), "disks")
    by_gate = _gated_disks(index, profile)
    for path, facts in _recorded(index, profile, "disks").items():
        users = ", ".join(facts.get("used_by", ()))
        row: dict[str, Cell | str] = {"Tier": Cell(profile, tier=profile)}
        row["Used by"] = Cell(users, detail=path)
        row["Device"] = _fact(facts, "device", "made_of")
        row["Size"] = _bytes(facts.get("size_bytes"))
        row["File system"] = _fact(facts, "file_system", "mount_options")
        row["Scheduler"] = _fact(facts, "scheduler")
        row["Read-ahead"] = _bytes(facts.get("read_ahead_bytes"))
        row["Write cache"] = _fact(facts, "write_cache")
        row["Rotational"] = _yes_or_no(facts.get("rotational"))
        row["Model"] = _model(facts)
        # A guest does not see such a cache, but a region that is read twice shows it.
        row["Host cache"] = Cell(by_gate.get(path, GateFacts()).host_cache or "")
        row["The cloud says"] = _told_by_cloud(by_cloud.get(path))
        yield row


def _fact(facts: Mapping[str, Any], name: str, detail: str = "") -> Cell:
    text = str(facts.get(name, ""))
    return Cell(text, detail=str(facts.get(detail, "")))


def _bytes(value: object) -> str:
    if isinstance(value, int):
        return units.format_bytes(value)
    return ""


def _yes_or_no(value: object) -> str:
    # What a machine did not tell is neither yes nor no.
    if value is None:
        return ""
    return prose.yes_or_no(bool(value))


def _model(facts: Mapping[str, Any]) -> Cell:
    identity: list[str] = []
    for name in ("serial", "firmware"):
        if facts.get(name):
            identity.append(str(facts[name]))
    model = str(facts.get("model", ""))
    return Cell(model, detail=", ".join(identity))


def _told_by_cloud(devices: object) -> Cell:
    """What the metadata service said of the devices under a path; those of one path may differ."""
    # The metadata service has no word of this path.
    if not isinstance(devices, Mapping):
        return Cell("")
    # Keys of a dict: each word once, in the order of the devices.
    types: dict[str, None] = {}
    caching: dict[str, None] = {}
    for device in devices.values():
        types[str(device.get("type", ""))] = None
        # Azure alone tells whether the machine's host caches the disk.
        if "caching" in device:
            caching[str(device["caching"])] = None
    detail = ""
    if caching:
        detail = f"host caching {', '.join(caching)}"
    return Cell(", ".join(types), detail=detail)
