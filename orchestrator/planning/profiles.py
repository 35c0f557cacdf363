"""YAML → Profile: every mistake at once, each with its file and YAML path. Pure:
takes texts, gives records. Units are parsed here and nowhere below."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from orchestrator import tier_catalog, units
from orchestrator.design import machines, node_disks
from orchestrator.errors import KeyPlace, Mistake, UsageError
from orchestrator.keys import schema, tier_keys
from orchestrator.keys.refusals import collecting, raise_all, refused, unknown_name
from orchestrator.keys.schema import (
    KINDS,
    Kinds,
    NamedTierYaml,
    ProfileYaml,
)
from orchestrator.keys.strict_records import validate
from orchestrator.keys.yaml_text import parse
from orchestrator.model import Profile
from orchestrator.planning import node_sizes, recorded_disk, virtual_machines
from orchestrator.planning.recorded_disk import RecordedDisk
from orchestrator.planning.virtual_machines import priced
from orchestrator.tier import DISKS, AnyDisk, ClassVolumes, Tier
from orchestrator.tier_catalog import Catalog, Chosen

NO_CATALOG = Catalog({}, {})
# The first that the cluster has: its machines and its tier are the same at each.
ANY_SCALE = ""
# A path as a profile gives it → the text of that file.
Beside = Callable[[str], str]


def _nothing_beside(name: str) -> str:
    raise refused([Mistake(name, "this file cannot be read from here")])


class Nameable(NamedTuple):
    """What a profile may name.

    clusters: name → text of its file. catalog: rows of tiers. beside: reads a file that the
    profile names. mechanisms: those that its tier may name, each with the kind of its disks.
    """

    clusters: Mapping[str, str] = {}
    catalog: Catalog = NO_CATALOG
    beside: Beside = _nothing_beside
    mechanisms: Kinds = KINDS


@dataclass(frozen=True)
class _Source:
    """The profile that is read: its name, its file for messages, and what it may name."""

    name: str
    where: str
    nameable: Nameable


def read_profile(
    name: str,
    text: str,
    nameable: Nameable,
    scale: str,
    where: str = "",
    changes: Mapping[str, object] | None = None,
) -> Profile:
    """`text` is profiles/<name>.yaml, or the file `where`.

    Its `cluster` is a mapping, or names one; its `tier` is a mapping of its own numbers, or names
    a row of the catalog.

    `scale` may be ANY_SCALE. `changes`: keys of its tier that are to be others than in the file;
    None: left out. Raises UsageError with every mistake in the file.
    """
    source = _Source(name, where or f"profiles/{name}.yaml", nameable)
    content = _with_cluster(source, _changed(parse(source.where, text), changes or {}))
    keys = _keys_of_tier(content)
    disk = _recorded(source, keys)
    # Limits of a recorded disk come before the check of keys. They count as if the profile had
    # them.
    checked = _checked(source, _with_limits(content, disk), scale)
    disks = _bought(source, checked, keys, disk)
    _check_disks(source.where, checked, disks)
    tier = _on_nodes(source, checked, disks)
    written = checked.profile
    placing = machines.placing(source.where, written, tier.disk.kind)
    # The cluster comes last, because machines are priced in the region of the disk.
    cluster = priced(written.cluster.build(checked.scale), tier, nameable.catalog)
    return Profile(name, written.question, tier, cluster, written.platform, placing)


@dataclass(frozen=True)
class _Checked:
    """The keys of a profile, the scale at which they hold, and the row if its tier names one."""

    profile: NamedTierYaml
    scale: str
    row: Chosen | None


def _checked(source: _Source, content: Mapping[str, Any], scale: str) -> _Checked:
    """UsageError with every mistake in keys and row."""
    tier = content.get("tier")
    names_row = tier_catalog.names_a_row(tier)
    mistakes = schema.misspelt_type(source.where, tier)
    row: Chosen | None = None
    if names_row:
        title = content.get("title")
        if not isinstance(title, str):
            title = ""
        with collecting(mistakes):
            row = tier_catalog.choose(
                source.nameable.catalog,
                tier,
                source.name,
                title,
                KeyPlace(source.where, ("tier",)),
                source.nameable.mechanisms,
            )
    profile: NamedTierYaml | None = None
    with collecting(mistakes):
        record: type[ProfileYaml | NamedTierYaml] = ProfileYaml
        # A tier that is a row, or was to be one, has no limits of its own to be missing.
        if names_row or mistakes:
            record = NamedTierYaml
        place = KeyPlace(source.where)
        profile = validate(record, place, content, source.nameable.mechanisms)
        if not scale:
            scale = next(iter(profile.cluster.node), ANY_SCALE)
        catalog = source.nameable.catalog
        node_sizes.check_cluster(source.where, profile.cluster, scale, catalog)
    raise_all(mistakes)
    assert profile is not None
    return _Checked(profile, scale, row)


def _bought(
    source: _Source,
    checked: _Checked,
    keys: Mapping[str, Any],
    disk: RecordedDisk | None,
) -> Chosen:
    """The tier as its disks are bought, several of a node as one, with that of their WAL. keys: of
    the tier as written."""
    if isinstance(checked.profile, ProfileYaml):
        chosen = _declared(source, checked.profile, keys, disk)
    else:
        assert checked.row is not None
        chosen = _with_latencies(checked.row, disk)
    tier = _with_log(source, chosen.tier, keys.get("wal"))
    chosen = replace(chosen, tier=tier)
    return replace(chosen, tier=tier_catalog.striped(chosen))


def _on_nodes(source: _Source, checked: _Checked, disks: Chosen) -> Tier:
    """The tier as the nodes get it: what their VM lets through, and a disk for each."""
    cluster = checked.profile.cluster
    on_vm = virtual_machines.on_vm(disks, cluster.vm, source.nameable.catalog)
    # The VM's limits first, because they may shorten the burst whose times are then scaled.
    tier = _scaled(on_vm, source.where)
    if checked.profile.machines:
        tier = node_disks.of_each(tier)
    return node_sizes.with_claimed_size(tier, cluster, checked.scale)


def _declared(
    source: _Source,
    profile: ProfileYaml,
    keys: Mapping[str, Any],
    disk: RecordedDisk | None,
) -> Chosen:
    """The tier of a profile's own numbers, with the latencies of a recorded disk if it has one."""
    mechanism = profile.tier.enforcement
    unused = tier_keys.mistakes(keys, mechanism.kind, mechanism.name)
    _refuse(source.where, unused)
    tier = profile.tier.build(source.name, profile.title)
    if disk is not None:
        tier = recorded_disk.applied(tier, disk)
    # Kept before a machine or a stripe changes the limits: a buyer orders these.
    origin = replace(
        tier.origin,
        bought_iops=tier.limits.total_iops,
        bought_bytes_per_s=tier.limits.bytes_per_s,
    )
    return tier_catalog.own(replace(tier, origin=origin))


def _with_latencies(row: Chosen, disk: RecordedDisk | None) -> Chosen:
    """The row with the latencies of a recorded disk, if there is one, and its own burst."""
    if disk is None:
        return row
    tier = recorded_disk.applied(row.tier, disk)
    # The row's limits hold, its burst too: only latencies are taken from the recorded disk.
    limits = replace(tier.limits, burst=row.tier.limits.burst)
    return replace(row, tier=replace(tier, limits=limits))


def _check_disks(where: str, checked: _Checked, disks: Chosen) -> None:
    """UsageError where the tier's disks do not go with the cluster, or are too small for it."""
    tier = disks.tier
    cluster = checked.profile.cluster
    bought_bytes = disks.size_bytes and disks.size_bytes * tier.count
    node_sizes.check_space(where, cluster, checked.scale, bought_bytes)
    if bool(cluster.existing) != tier.disk.is_of_others:
        what = "`enforcement: existing` and `database: existing` belong together"
        _refuse(where, [("enforcement", what)])
    nodes = cluster.nodes or 0
    _refuse(
        where, node_disks.mistakes(tier, nodes, shared=not checked.profile.machines)
    )


def _changed(content: dict[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    """The content of a profile with the changes of its tier."""
    if not changes:
        return content
    tier = content.get("tier")
    # A named row becomes a mapping, so that other keys can stand beside it.
    keys: dict[str, object] = {"type": tier}
    if isinstance(tier, dict):
        keys = tier
    changed = {**keys, **changes}
    kept = {key: value for key, value in changed.items() if value is not None}
    return {**content, "tier": kept}


def _with_cluster(source: _Source, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a profile with the cluster that it names."""
    cluster = content.get("cluster")
    if not isinstance(cluster, str):
        return content
    clusters = source.nameable.clusters
    if cluster not in clusters:
        place = KeyPlace(source.where, ("cluster",))
        raise refused([unknown_name(place, "cluster", cluster, clusters)])
    file = f"profiles/clusters/{cluster}.yaml"
    return {**content, "cluster": parse(file, clusters[cluster])}


def _keys_of_tier(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys that a profile has of its tier; none if that is only a name."""
    tier = content.get("tier")
    if isinstance(tier, dict):
        return tier
    return {}


def _refuse(where: str, mistakes: Iterable[tuple[str, str]]) -> None:
    """UsageError with all of them (key of the tier, what is wrong), if there are any."""
    place = KeyPlace(where, ("tier",))
    raise_all([Mistake.at(place.below_path(key), what) for key, what in mistakes])


def _recorded(source: _Source, keys: Mapping[str, Any]) -> RecordedDisk | None:
    """The disk that the key `recorded` of a tier names, if it does."""
    name = keys.get("recorded")
    if not isinstance(name, str):
        return None
    what = "the file of `recorded` has the latencies: leave it out"
    latencies = {"read_latency", "write_latency"} & keys.keys()
    _refuse(source.where, [(key, what) for key in sorted(latencies)])
    place = KeyPlace(source.where, ("tier", "recorded"))
    return _read_beside(place, name, source.nameable.beside(name))


def _with_limits(content: dict[str, Any], disk: RecordedDisk | None) -> dict[str, Any]:
    """The content of a profile with the limits of its recorded disk; a row has limits already."""
    keys = _keys_of_tier(content)
    if disk is None or not disk.limits or tier_catalog.names_a_row(keys):
        return content
    # The profile's own limits stand last, and so replace what the file has.
    tier = {**recorded_disk.own_limits(disk.limits), **keys}
    return {**content, "tier": tier}


def _read_beside(place: KeyPlace, name: str, text: str) -> RecordedDisk:
    """The recorded disk in the file `name`. UsageError at `place`, which names the file."""
    try:
        return recorded_disk.read(name, text)
    except UsageError as error:
        mistakes: list[Mistake] = []
        for mistake in error.mistakes:
            what = f"{mistake.where}: {mistake.what}"
            mistakes.append(Mistake.at(place, what, mistake.kind))
        raise refused(mistakes) from error


def _with_log(source: _Source, tier: Tier, wal: Any) -> Tier:
    """The tier with that of its log's disks, if its key `wal` says what these are."""
    if wal is None:
        return tier
    kind = tier.disk.kind
    keys, wrong = tier_keys.of_logs(wal, kind)
    _refuse(source.where, wrong)
    name = f"{tier.name}'s WAL"
    place = KeyPlace(source.where, ("tier", "wal"))
    catalog = source.nameable.catalog
    if tier_catalog.names_a_row(keys):
        log = tier_catalog.choose(catalog, keys, name, where=place).tier
    else:
        unused = tier_keys.mistakes(keys, kind, kind)
        _refuse(source.where, [(f"wal.{key}", what) for key, what in unused])
        log = validate(schema.TierYaml, place, keys).build(name, "disk of the WAL")
    log = replace(log, disk=_disk_of_log(tier, log))
    return with_log_beside(tier, log, place.below("type"), catalog)


def _disk_of_log(tier: Tier, log: Tier) -> AnyDisk:
    """The disk of a log's tier, beside that of the data."""
    data = tier.disk
    wanted = log.disk.storage_class
    if not isinstance(data, ClassVolumes) or wanted is None:
        # The log's place stands in the disks of the nodes; here only its kind counts.
        return DISKS[data.kind]()
    # What holds for both is said once, in the tier.
    return replace(data, storage_class=wanted)


def with_log_beside(tier: Tier, log: Tier, place: KeyPlace, catalog: Catalog) -> Tier:
    """The tier with another one for its log's disk. UsageError with `place` if no machine has disks
    of both."""
    data_type = tier.origin.catalog_type
    log_type = log.origin.catalog_type
    # Limits that somebody gives have no row.
    if data_type and log_type and catalog.are_never_together(data_type, log_type):
        what = f"no machine has a disk of {log_type} beside one of {data_type}"
        raise refused([Mistake.at(place, what)], "take both disks of one provider")
    return replace(tier, wal=log)


def read_row(
    row: str, changes: Mapping[str, object], catalog: Catalog, mechanisms: Kinds = KINDS
) -> Chosen:
    """A catalog row and the keys that a profile may give beside it. UsageError: every mistake."""
    place = KeyPlace("", (row,))
    if changes.get("wal") is not None:
        what = "is of the nodes of a profile: a disk alone has none"
        raise refused([Mistake.at(place.below("wal"), what)])
    asked = {"type": row, **changes}
    chosen = tier_catalog.choose(
        catalog, asked, row.replace("/", "-"), "", place, mechanisms
    )
    scaled = _scaled(tier_catalog.striped(chosen), row)
    return replace(chosen, tier=scaled)


def _scaled(tier: Tier, where: str) -> Tier:
    """Shortens the bucket's minutes as the run is shortened, so that a run spends the same
    share of its time on credit: duration / scale.

    Peak and base stay, so the bucket shrinks too.
    """
    scale = tier.disk.burst_time_scale
    burst = tier.limits.burst
    if scale == 1:
        return tier
    if burst is None:
        what = "the tier has no burst whose time could be scaled; leave it out"
        place = KeyPlace(where, ("tier", "burst_time_scale"))
        raise refused([Mistake.at(place, what)])
    scaled = replace(burst, duration_s=burst.duration_s / scale)
    lasts = units.format_seconds(scaled.duration_s)
    note = f"Burst times are divided by {scale:g}: a full bucket lasts {lasts} here."
    notes = f"{tier.origin.notes} {note}"
    return replace(
        tier,
        limits=replace(tier.limits, burst=scaled),
        origin=replace(tier.origin, notes=notes.strip()),
    )
