"""YAML → Profile and Workload: every mistake at once, each with its file and YAML path.

Pure: takes texts, gives records. Units are parsed here and nowhere below; unknown keys and keys
given twice are refused, because a misspelt limit would silently be no limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from orchestrator import tier_catalog, units
from orchestrator.errors import Mistake
from orchestrator.model import (
    Burst,
    ClusterSpec,
    Dataset,
    Enforcement,
    NodeSize,
    Price,
    Profile,
    Tier,
    Workload,
)
from orchestrator.strict_yaml import collecting, parse, raise_all, refused, unknown, validate

Bytes = Annotated[int, BeforeValidator(units.parse_bytes), Field(gt=0)]
BytesPerS = Annotated[int, BeforeValidator(units.parse_bytes_per_s), Field(gt=0)]
Seconds = Annotated[float, BeforeValidator(units.parse_seconds), Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Parameter = int | float | str
Text = Annotated[str, BeforeValidator(str)]  # YAML reads a bare date or number as such

MIN_DISK_BYTES = 512 * 2**20  # XFS refuses less than 300 MiB, and a database needs its log
MIN_MEMORY_BYTES = 128 * 2**20
NO_CATALOG = tier_catalog.Catalog({}, {})


def _percentage(value: object) -> object:
    """`50 %` as 50; everything else as it is."""
    if isinstance(value, str) and value.rstrip().endswith("%"):
        return value.rstrip().rstrip("%").strip()
    return value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BurstYaml(_Strict):
    iops: Positive | None = None
    throughput: BytesPerS | None = None
    duration: Seconds
    start: Annotated[
        Literal["full", "empty"] | Annotated[float, Field(ge=0, le=100)],
        BeforeValidator(_percentage),
    ] = "full"

    def build(self) -> Burst:
        start = {"full": 100.0, "empty": 0.0}.get(str(self.start))
        return Burst(
            iops=self.iops,
            bytes_per_s=self.throughput,
            duration_s=self.duration,
            start_pct=float(self.start) if start is None else start,
        )


class PriceYaml(_Strict):
    monthly: Annotated[float, Field(ge=0)]
    currency: str
    region: str
    as_of: Text
    source: str


class TierYaml(_Strict):
    enforcement: Enforcement = "emulated"
    iops: Positive | None = None
    throughput: BytesPerS | None = None
    read_latency: Seconds | None = None
    write_latency: Seconds | None = None
    burst: BurstYaml | None = None
    burst_time_scale: Annotated[float, Field(ge=1)] = 1.0
    io_unit: Bytes = 262_144
    path: str | None = None
    allow_root_disk: bool = False
    price: PriceYaml | None = None
    source: str = ""
    as_of: Text = ""
    notes: str = ""

    @model_validator(mode="after")
    def _whole(self) -> TierYaml:
        if self.enforcement == "mounted" and not self.path:
            raise ValueError("a mounted tier needs `path`: the directory where the disk is mounted")
        if self.enforcement == "emulated" and not (self.iops and self.throughput):
            raise ValueError("an emulated tier needs `iops` and `throughput`")
        if self.enforcement == "cgroup" and not (self.iops or self.throughput):
            raise ValueError("a tier held by control groups needs `iops` or `throughput`")
        burst = self.burst
        if burst and burst.iops and self.iops and burst.iops < self.iops:
            raise ValueError("`burst.iops` is below `iops`")
        if burst and burst.throughput and self.throughput and burst.throughput < self.throughput:
            raise ValueError("`burst.throughput` is below `throughput`")
        return self

    def build(self, name: str, title: str) -> Tier:
        return Tier(
            name=name,
            title=title,
            enforcement=self.enforcement,
            iops=self.iops,
            bytes_per_s=self.throughput,
            read_latency_s=self.read_latency,
            write_latency_s=self.write_latency,
            burst=self.burst.build() if self.burst else None,
            burst_time_scale=self.burst_time_scale,
            io_unit_bytes=self.io_unit,
            path=self.path,
            allow_root_disk=self.allow_root_disk,
            price=Price(**self.price.model_dump()) if self.price else None,
            source=self.source,
            as_of=self.as_of,
            notes=self.notes,
        )


class NodeYaml(_Strict):
    cpus: Annotated[float, Field(gt=0)]
    memory: Annotated[Bytes, Field(ge=MIN_MEMORY_BYTES)]
    disk: Annotated[Bytes, Field(ge=MIN_DISK_BYTES)]

    def build(self) -> NodeSize:
        return NodeSize(cpus=self.cpus, memory_bytes=self.memory, disk_bytes=self.disk)


class ClusterYaml(_Strict):
    database: str = "auto"
    version: Text | None = None
    nodes: Positive
    replication_factor: Positive
    port: Annotated[int, Field(gt=0, lt=65536)] | None = None
    vm: str | None = None
    node: Annotated[Mapping[str, NodeYaml], Field(min_length=1)]
    settings: Mapping[str, Text] = {}
    existing: Mapping[str, Text] = {}
    node_of: Mapping[str, Mapping[str, NodeYaml]] = {}

    @model_validator(mode="after")
    def _whole(self) -> ClusterYaml:
        if bool(self.existing) != (self.database == "existing"):
            raise ValueError("`existing` and `database: existing` belong together")
        if self.replication_factor > self.nodes:
            raise ValueError("`replication_factor` is above `nodes`: a replica needs its own node")
        return self

    def build(self, scale: str) -> ClusterSpec:
        size = self.node[scale]
        return ClusterSpec(
            database=self.database,
            version=self.version,
            nodes=self.nodes,
            replication_factor=self.replication_factor,
            port=self.port,
            vm=self.vm,
            node=size.build(),
            settings={
                **self.settings,
                **{f"existing.{key}": value for key, value in self.existing.items()},
            },
            node_of={
                database: scales[scale].build()
                for database, scales in self.node_of.items()
                if scale in scales
            },
        )


class NamedTierYaml(_Strict):
    """A profile whose tier names a catalogue row; the row is read by `tier_catalog`."""

    question: str
    title: str = ""  # the row's own
    tier: Any
    cluster: ClusterYaml


class ProfileYaml(NamedTierYaml):
    title: str
    tier: TierYaml


class ScaleYaml(_Strict):
    dataset: Mapping[str, Parameter]
    threads: Positive
    loader_threads: Positive = 2
    warmup: Seconds
    measure: Annotated[Seconds, Field(gt=0)]
    options: Mapping[str, Parameter] = {}


class WorkloadYaml(_Strict):
    title: str
    generator: str
    script: str
    dataset: str
    database: Literal["none"] | None = None
    statements_per_transaction: Positive | None = None
    options: Mapping[str, Parameter] = {}
    scales: Annotated[Mapping[str, ScaleYaml], Field(min_length=1)]


def read_profile(
    name: str,
    text: str,
    clusters: Mapping[str, str],
    scale: str,
    catalog: tier_catalog.Catalog = NO_CATALOG,
) -> Profile:
    """`text` is profiles/<name>.yaml. Its `cluster` is a mapping, or names one of `clusters`; its
    `tier` is a mapping of its own numbers, or names a row of `catalog`.

    Raises UsageError with every mistake in the file.
    """
    where = f"profiles/{name}.yaml"
    content = parse(where, text)
    cluster = content.get("cluster")
    if isinstance(cluster, str):
        if cluster not in clusters:
            raise refused([Mistake(f"{where}: cluster", unknown("cluster", cluster, clusters))])
        content["cluster"] = parse(f"profiles/clusters/{cluster}.yaml", clusters[cluster])
    mistakes: list[Mistake] = []
    chosen: tier_catalog.Chosen | None = None
    read: NamedTierYaml | None = None
    named = tier_catalog.names_a_row(content.get("tier"))
    if named:
        title = str(content.get("title", ""))
        with collecting(mistakes):
            chosen = tier_catalog.choose(catalog, content["tier"], name, title, f"{where}: tier")
    with collecting(mistakes):
        read = validate(NamedTierYaml if named else ProfileYaml, f"{where}: ", content)
        _check_cluster(where, read.cluster, scale, catalog)
    raise_all(mistakes)
    assert read is not None
    if isinstance(read, ProfileYaml):
        chosen = tier_catalog.own(read.tier.build(name, read.title))
    assert chosen is not None
    _check_space(where, read.cluster, scale, chosen.size_bytes)
    tier = _scaled(_on_vm(chosen, read.cluster.vm, catalog), where)
    return Profile(name, read.question, tier, read.cluster.build(scale))


def _check_cluster(
    where: str, cluster: ClusterYaml, scale: str, catalog: tier_catalog.Catalog
) -> None:
    if scale not in cluster.node:
        what = unknown("scale", scale, cluster.node)
        raise refused([Mistake(f"{where}: cluster.node", what)])
    if cluster.vm is not None:
        catalog.vm(cluster.vm, f"{where}: cluster.vm")


def _check_space(where: str, cluster: ClusterYaml, scale: str, bought: int | None) -> None:
    """A node's disk fits into the one that is bought; `bought` None: of unknown size."""
    of_databases = {f"node_of.{name}": sizes for name, sizes in cluster.node_of.items()}
    raise_all(
        [
            Mistake(
                f"{where}: cluster.{key}.{scale}.disk",
                f"{units.format_bytes(sizes[scale].disk)} do not fit on the tier's disk of "
                f"{units.format_bytes(bought)}: take a larger one",
            )
            for key, sizes in {"node": cluster.node, **of_databases}.items()
            if bought is not None and scale in sizes and sizes[scale].disk > bought
        ]
    )


def _on_vm(chosen: tier_catalog.Chosen, vm: str | None, catalog: tier_catalog.Catalog) -> Tier:
    """The tier as a node gets it: one disk on the cluster's VM size, where one is named."""
    if vm is None:
        return chosen.tier
    on_vm = tier_catalog.effective(chosen, 1, catalog.vm(vm), vm)
    return tier_catalog.bound(chosen.tier, on_vm)


def _scaled(tier: Tier, where: str) -> Tier:
    """The bucket's minutes shortened as the run is, so that a run spends the same share of its
    time on credit: duration / scale. Peak and base stay, so the bucket shrinks with it."""
    scale, burst = tier.burst_time_scale, tier.burst
    if scale == 1:
        return tier
    if burst is None:
        what = "there is no burst whose time could be scaled"
        raise refused([Mistake(f"{where}: tier.burst_time_scale", what)])
    note = f"Burst times are divided by {scale:g}: a full bucket lasts "
    note += f"{units.format_seconds(burst.duration_s / scale)} here."
    scaled = replace(burst, duration_s=burst.duration_s / scale)
    return replace(tier, burst=scaled, notes=f"{tier.notes} {note}".strip())


def read_workload(name: str, text: str, scale: str) -> Workload:
    """`text` is workloads/<name>.yaml. Raises UsageError with every mistake in the file."""
    where = f"workloads/{name}.yaml"
    read = validate(WorkloadYaml, f"{where}: ", parse(where, text))
    if scale not in read.scales:
        raise refused([Mistake(f"{where}: scales", unknown("scale", scale, read.scales))])
    size = read.scales[scale]
    return Workload(
        name=name,
        title=read.title,
        generator=read.generator,
        script=read.script,
        dataset=Dataset(family=read.dataset, parameters=dict(size.dataset)),
        scale=scale,
        threads=size.threads,
        loader_threads=size.loader_threads,
        warmup_s=size.warmup,
        measure_s=size.measure,
        statements_per_transaction=read.statements_per_transaction,
        options={**read.options, **size.options},
        database=read.database,
    )
