"""Which extensions took part in a run: kept in its record, and asked again when it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.facts import ExtensionFacts
from orchestrator.model import Record
from orchestrator.registry.extension import Extension
from orchestrator.registry.installed import Installed, extensions


@dataclass(frozen=True)
class MemberNames:
    """The names of the members of a run. `platform`: empty if it is not known."""

    database: str
    generator: str
    mechanism: str
    platform: str = ""


def of_record(record: Record) -> MemberNames:
    """The members that a record names, which does not name the platform."""
    return MemberNames(
        record.profile.cluster.member,
        record.workload.generator,
        record.profile.tier.disk.enforcement,
    )


def taking_part(
    members: MemberNames, among: Sequence[Installed] | None = None
) -> dict[str, Mapping[str, Any]]:
    """Extension → what the record of a run with these members keeps of the extension.

    An extension takes part if it brought one of the members, or if it samples the nodes. An
    extension without members also takes part if it has doubts, because these are about all runs.
    """
    if among is None:
        among = extensions()
    kept: dict[str, Mapping[str, Any]] = {}
    for extension in among:
        brings = extension.brings
        # Doubts of an extension with members are about runs of these members alone.
        doubts_all = bool(brings.doubts) and not brings.has_members
        if _has_brought(brings, members) or doubts_all or brings.collectors:
            kept[extension.name] = _facts(extension).recorded()
    return kept


def _facts(extension: Installed) -> ExtensionFacts:
    return ExtensionFacts(
        distribution=extension.origin.distribution,
        version=extension.origin.version,
        has_doubts=bool(extension.brings.doubts),
    )


def _has_brought(brings: Extension, members: MemberNames) -> bool:
    return (
        members.database in brings.databases
        or members.generator in brings.load_generators
        or members.mechanism in brings.tiers
        or members.platform in brings.platforms
    )


def recorded(record: Record) -> dict[str, ExtensionFacts]:
    """What a record keeps of extensions, by their names."""
    kept = record.facts.get("extensions")
    if not isinstance(kept, dict):
        return {}
    return {str(name): ExtensionFacts.read(facts) for name, facts in kept.items()}


def missing(
    record: Record, among: Sequence[Installed] | None = None
) -> dict[str, ExtensionFacts]:
    """The extensions that took part in a run and are not installed here."""
    if among is None:
        among = extensions()
    here = {extension.name for extension in among}
    absent = {}
    for name, facts in recorded(record).items():
        if name not in here:
            absent[name] = facts
    return absent


def doubting(
    record: Record, among: Sequence[Installed] | None = None
) -> Sequence[Installed]:
    """The installed extensions whose doubts are about this run."""
    if among is None:
        among = extensions()
    concerned = []
    for extension in among:
        if extension.brings.doubts and _is_concerned(extension, record):
            concerned.append(extension)
    return concerned


def _is_concerned(extension: Installed, record: Record) -> bool:
    """Whether it took part, or doubts all runs."""
    # Records of older releases name no extensions, so that members tell it too.
    return (
        not extension.brings.has_members
        or extension.name in recorded(record)
        or _has_brought(extension.brings, of_record(record))
    )
