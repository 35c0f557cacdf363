"""YAML → Profile and Workload: every mistake at once, each with its file and YAML path. Pure:
takes texts, gives records. Units are parsed here and nowhere below."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator import tier_catalog, units
from orchestrator.errors import Mistake
from orchestrator.keys import schema, tier_keys
from orchestrator.keys.schema import (
    KINDS,
    ClusterYaml,
    Kinds,
    NamedTierYaml,
    ProfileYaml,
)
from orchestrator.keys.strict_yaml import (
    collecting,
    parse,
    raise_all,
    refused,
    unknown,
    validate,
)
from orchestrator.model import ClusterSpec, Dataset, Profile, Workload
from orchestrator.planning import machines, node_disks, overrides, recorded_disk, slo
from orchestrator.planning.recorded_disk import RecordedDisk
from orchestrator.tier import ClassVolumes, OthersDisks, RealDisks, Tier
from orchestrator.tier_catalog import Catalog, Chosen, prices

NO_CATALOG = Catalog({}, {})
ANY_SCALE = (
    ""  # the first that the cluster has: its machines and its tier are the same at each
)
Beside = Callable[[str], str]  # a path as a profile gives it → the text of that file


def _nothing_beside(name: str) -> str:
    raise refused([Mistake(name, "this file cannot be read from here")])


def read_profile(
    name: str,
    text: str,
    clusters: Mapping[str, str],
    scale: str,
    catalog: Catalog = NO_CATALOG,
    where: str = "",
    mechanisms: Kinds = KINDS,
    beside: Beside = _nothing_beside,
    changes: Mapping[str, object] | None = None,
) -> Profile:
    """`text` is profiles/<name>.yaml, or the file `where`. Its `cluster` is a mapping, or names one
    of `clusters`; its `tier` is a mapping of its own numbers, or names a row of `catalog`.
    `mechanisms`: those that its tier may name, each with the kind of its disks. `beside` reads a
    file that the profile names. `changes`: keys of its tier that are to be others than in the file;
    None: left out. `scale` may be ANY_SCALE. Raises UsageError with every mistake in the file."""
    where = where or f"profiles/{name}.yaml"
    content = _whole(where, parse(where, text), clusters, changes or {})
    mistakes: list[Mistake] = []
    chosen: Chosen | None = None
    read: NamedTierYaml | None = None
    given = dict(written) if isinstance(written := content.get("tier"), dict) else {}
    disk = _recorded(where, content, beside)
    if named := tier_catalog.names_a_row(content.get("tier")):
        title = title if isinstance(title := content.get("title"), str) else ""
        with collecting(mistakes):
            chosen = tier_catalog.choose(
                catalog, content["tier"], name, title, f"{where}: tier", mechanisms
            )
    with collecting(mistakes):
        record = NamedTierYaml if named else ProfileYaml
        read = validate(record, f"{where}: ", content, mechanisms)
        scale = scale or next(iter(read.cluster.node or ()), ANY_SCALE)
        _check_cluster(where, read.cluster, scale, catalog)
    raise_all(mistakes)
    assert read is not None
    if isinstance(read, ProfileYaml):
        mechanism = read.tier.enforcement
        _refuse(where, tier_keys.mistakes(given, mechanism.kind, mechanism.name))
        tier = read.tier.build(name, read.title)
        chosen = tier_catalog.own(recorded_disk.applied(tier, disk) if disk else tier)
    assert chosen is not None
    if named and disk:
        tier = recorded_disk.applied(chosen.tier, disk)
        limits = replace(tier.limits, burst=chosen.tier.limits.burst)
        chosen = replace(chosen, tier=replace(tier, limits=limits))
    chosen = replace(chosen, tier=_with_log(where, chosen.tier, given, catalog))
    chosen = replace(chosen, tier=tier_catalog.striped(chosen))
    bought = chosen.size_bytes and chosen.size_bytes * chosen.tier.count
    _check_space(where, read.cluster, scale, bought)
    if bool(read.cluster.existing) != isinstance(chosen.tier.disk, OthersDisks):
        what = "`enforcement: existing` and `database: existing` belong together"
        _refuse(where, [("enforcement", what)])
    nodes, shared = read.cluster.nodes or 0, not read.machines
    _refuse(where, node_disks.mistakes(chosen.tier, nodes, shared))
    tier = tier_keys.as_held(_scaled(on_vm(chosen, read.cluster.vm, catalog), where))
    tier = tier if shared else node_disks.of_each(tier)
    tier = _claimed(tier, read.cluster, scale)
    placing = machines.placing(where, read, tier.disk.kind)
    cluster = priced(read.cluster.build(scale), tier, catalog)
    return Profile(name, read.question, tier, cluster, read.platform, placing)


def priced(cluster: ClusterSpec, tier: Tier, catalog: Catalog) -> ClusterSpec:
    """With the list price of its virtual machines, unless it says one: of the disk's region."""
    if cluster.vm is None or cluster.vm_price is not None:
        return cluster
    of_vm, region = (
        catalog.vm(cluster.vm).prices,
        tier.price.region if tier.price else None,
    )
    row = prices.pick(of_vm, region)
    amount = prices.monthly(row) if row else None
    known = prices.stated(row, amount) if row and amount is not None else None
    return replace(cluster, vm_price=known)


def _whole(
    where: str,
    content: dict[str, Any],
    clusters: Mapping[str, str],
    changes: Mapping[str, object],
) -> dict[str, Any]:
    """The content with the changes of its tier, and with the cluster that it names."""
    tier, cluster = content.get("tier"), content.get("cluster")
    if changes:
        changed = {**(tier if isinstance(tier, dict) else {"type": tier}), **changes}
        content["tier"] = {
            key: value for key, value in changed.items() if value is not None
        }
    if isinstance(cluster, str):
        if cluster not in clusters:
            raise refused(
                [Mistake(f"{where}: cluster", unknown("cluster", cluster, clusters))]
            )
        content["cluster"] = parse(
            f"profiles/clusters/{cluster}.yaml", clusters[cluster]
        )
    return content


def _refuse(where: str, mistakes: Iterable[tuple[str, str]]) -> None:
    """UsageError with all of them (key of the tier, what is wrong), if there are any."""
    raise_all([Mistake(f"{where}: tier.{key}", what) for key, what in mistakes])


def _recorded(
    where: str, content: dict[str, Any], beside: Beside
) -> RecordedDisk | None:
    """The disk that the key `recorded` of the tier names, if it does. Limits that the tier does not
    give are put into `content`, unless it names a row, which has its own."""
    tier = content.get("tier")
    name = tier.get("recorded") if isinstance(tier, dict) else None
    if not isinstance(tier, dict) or not isinstance(name, str):
        return None
    what = "the file of `recorded` has the latencies: leave it out"
    _refuse(
        where, [(key, what) for key in ("read_latency", "write_latency") if key in tier]
    )
    disk = recorded_disk.read(f"{where}: tier.recorded: {name}", beside(name))
    if disk.limits and not tier_catalog.names_a_row(tier):
        content["tier"] = {**recorded_disk.own_limits(disk.limits), **tier}
    return disk


def _with_log(
    where: str, tier: Tier, given: Mapping[str, Any], catalog: Catalog
) -> Tier:
    """The tier with that of its log's disks, if it has the key `wal`."""
    if (wal := given.get("wal")) is None:
        return tier
    keys, wrong = tier_keys.of_logs(wal)
    _refuse(where, wrong)
    name, place = f"{tier.name}'s WAL", f"{where}: tier.wal"
    if tier_catalog.names_a_row(keys):
        log = tier_catalog.choose(catalog, keys, name, where=place).tier
    else:
        unused = tier_keys.mistakes(keys, "mounted", "mounted")
        _refuse(where, ((f"wal.{key}", what) for key, what in unused))
        log = validate(schema.TierYaml, place, keys).build(name, "disk of the WAL")
    return replace(tier, wal=replace(log, disk=RealDisks()))


def read_row(
    row: str, changes: Mapping[str, object], catalog: Catalog, mechanisms: Kinds = KINDS
) -> Chosen:
    """A catalog row and the keys that a profile may give beside it. UsageError: every mistake."""
    asked = {"type": row, **changes}
    chosen = tier_catalog.choose(
        catalog, asked, row.replace("/", "-"), "", row, mechanisms
    )
    return replace(
        chosen, tier=tier_keys.as_held(_scaled(tier_catalog.striped(chosen), row))
    )


def _check_cluster(
    where: str, cluster: ClusterYaml, scale: str, catalog: Catalog
) -> None:
    needed = {} if cluster.existing else {"nodes": cluster.nodes, "node": cluster.node}
    missing = [key for key, value in needed.items() if not value]
    raise_all(
        [Mistake(f"{where}: cluster.{key}", "this key is missing") for key in missing]
    )
    if cluster.node and scale not in cluster.node:
        what = unknown("scale", scale, cluster.node)
        raise refused([Mistake(f"{where}: cluster.node", what)])
    if cluster.vm is not None:
        catalog.vm(cluster.vm, f"{where}: cluster.vm")


def _check_space(
    where: str, cluster: ClusterYaml, scale: str, bought: int | None
) -> None:
    """Checks that a node's disk fits on the one that is bought; `bought` None: size unknown."""
    of_databases = {f"node_of.{name}": sizes for name, sizes in cluster.node_of.items()}
    mistakes = []
    for key, sizes in {"node": cluster.node, **of_databases}.items():
        if (
            bought is not None
            and scale in sizes
            and (wanted := sizes[scale].disk_bytes) > bought
        ):
            what = f"{units.format_bytes(wanted)} do not fit on the tier's disk of "
            what += f"{units.format_bytes(bought)}: take a larger one"
            mistakes.append(Mistake(f"{where}: cluster.{key}.{scale}.disk", what))
    raise_all(mistakes)


def _claimed(tier: Tier, cluster: ClusterYaml, scale: str) -> Tier:
    """With the most that a node's disk needs, if the tier is a class that says no size."""
    disk = tier.disk
    wanted = disk.storage_class
    if (
        not isinstance(disk, ClassVolumes)
        or wanted is None
        or wanted.size_bytes is not None
    ):
        return tier
    of_databases = (cluster.node, *cluster.node_of.values())
    sizes = [sizes[scale].disk_bytes for sizes in of_databases if scale in sizes]
    wanted = replace(wanted, size_bytes=max(sizes, default=None))
    return replace(tier, disk=replace(disk, storage_class=wanted))


def on_vm(chosen: Chosen, vm: str | None, catalog: Catalog) -> Tier:
    """The tier as a node gets it on the cluster's VM size, if that is named. A disk of the tier for
    the WAL has its part in what the VM lets through."""
    if vm is None:
        return chosen.tier
    size = catalog.vm(vm)
    tier = tier_catalog.bound(
        chosen.tier, tier_catalog.effective(chosen, chosen.tier.count, size, vm)
    )
    if not any(disks.wal for disks in chosen.tier.disk.of_nodes.values()):
        return tier
    log_limits = tier.wal.limits if tier.wal else None
    if wal := tier.wal:
        log = replace(tier_catalog.own(wal), type=wal.origin.catalog_type or None)
        wal = tier_catalog.bound(wal, tier_catalog.effective(log, 1, size, vm))
        tier = replace(tier, wal=wal)
    both = tier_catalog.effective(chosen, chosen.tier.count + 1, size, vm, log_limits)
    return replace(tier, origin=replace(tier.origin, vm_caps=tuple(both.warnings())))


def _scaled(tier: Tier, where: str) -> Tier:
    """Shortens the bucket's minutes as the run is shortened, so that a run spends the same share
    of its time on credit: duration / scale. Peak and base stay, so the bucket shrinks too."""
    scale, burst = tier.disk.burst_time_scale, tier.limits.burst
    if scale == 1:
        return tier
    if burst is None:
        what = "the tier has no burst whose time could be scaled; leave it out"
        raise refused([Mistake(f"{where}: tier.burst_time_scale", what)])
    scaled = replace(burst, duration_s=burst.duration_s / scale)
    lasts = units.format_seconds(scaled.duration_s)
    note = f"Burst times are divided by {scale:g}: a full bucket lasts {lasts} here."
    origin = replace(tier.origin, notes=f"{tier.origin.notes} {note}".strip())
    return replace(tier, limits=replace(tier.limits, burst=scaled), origin=origin)


def read_workload(
    name: str,
    text: str,
    scale: str,
    where: str = "",
    given: overrides.Overrides | None = None,
) -> Workload:
    """`text` is workloads/<name>.yaml, or the file `where`; what is `given` holds over it. Raises
    UsageError with every mistake in it."""
    where = where or f"workloads/{name}.yaml"
    content = parse(where, text)
    changed = given.applied(name, content) if given else content
    read = validate(schema.WorkloadYaml, f"{where}: ", changed)
    if scale not in read.scales:
        raise refused(
            [Mistake(f"{where}: scales", unknown("scale", scale, read.scales))]
        )
    size = read.scales[scale]
    of_scale = {
        **read.model_dump(exclude={"scales", "slo"}),
        **dict(size),
        "dataset": Dataset(read.dataset, dict(size.dataset)),
        "options": {**read.options, **size.options},
        # One that only repeats another (`study-20: *study`) goes by the other's name.
        "scale": next(
            n for n, of in content["scales"].items() if of == content["scales"][scale]
        ),
    }
    return slo.applied([Workload(name, **of_scale)], read.slo, f"{where}: slo")[0]
