"""What a profile and a workload may say in YAML: keys, types, units, as pydantic models.

Unknown keys are refused, because a misspelt limit would silently be no limit. A quantity is a base
unit with its parser; tests know the form in which it is written, and make docs/schema/ of both."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, Literal, Self, TypeVar, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from orchestrator import model, tier, units
from orchestrator.errors import KeyPlace, Mistake
from orchestrator.keys import addresses, slow_disks, tier_keys
from orchestrator.keys.near_keys import keys_at, nearest
from orchestrator.keys.strict_records import ReadBy, Strict
from orchestrator.tier.slow_disk import SlowDisk


def as_texts(value: object) -> str:
    """One text, made of a text or of a list whose entries are then separated by spaces.

    YAML takes `on` and `off` for truth values: they become what was written. ValueError if the
    value is no text.
    """
    if isinstance(value, bool):
        if value:
            return "on"
        return "off"
    if isinstance(value, list):
        return " ".join([units.as_text(entry) for entry in value])
    return units.as_text(value)


_Kept = TypeVar("_Kept")

AsSeconds = BeforeValidator(units.parse_seconds)
AsText = BeforeValidator(units.as_text)
Bytes = Annotated[int, BeforeValidator(units.parse_bytes), Field(gt=0)]
BytesPerS = Annotated[int, BeforeValidator(units.parse_bytes_per_s), Field(gt=0)]
LinkRate = Annotated[int, BeforeValidator(units.parse_link_rate), Field(gt=0)]
Seconds = Annotated[float, AsSeconds, Field(ge=0)]
Positive = Annotated[int, Field(gt=0, lt=units.MOST)]
Rate = Annotated[float, Field(gt=0, lt=units.MOST)]
Parameter = int | float | str
Text = Annotated[str, AsText]
SlowTexts = Annotated[
    tuple[Annotated[SlowDisk, BeforeValidator(slow_disks.slow_disk_in)], ...],
    BeforeValidator(slow_disks.texts_in),
]
Texts = Annotated[str, BeforeValidator(as_texts)]

DRY: Final = "dry"  # the do-nothing member of each family
# XFS refuses less than 300 MiB, and a database needs its log.
MIN_DISK_BYTES = 512 * 2**20
MIN_MEMORY_BYTES = 128 * 2**20


def bucket_pct(value: object, *others: str) -> object:
    """How full a credit bucket is, in percent, from `full`, `empty`, `50` or `50 %`.

    A value among the words `others` is returned unchanged. ValueError for anything else.
    """
    if isinstance(value, str) and value in others:
        return value
    if value == "full":
        return 100.0
    if value == "empty":
        return 0.0
    try:
        pct = float(str(value).rstrip(" %"))
    except ValueError:
        # NaN fails the comparison below, as any other number that is no percentage.
        pct = math.nan
    if 0 <= pct <= 100:
        return pct
    words = ", ".join(("full", "empty", *others))
    raise ValueError(f"use {words} or a percentage of the bucket")


# The form of a name that Kubernetes accepts for a class.
_CLASS_NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
_LONGEST_CLASS_NAME = 253


def _class_name(value: object) -> object:
    """ValueError if Kubernetes would refuse the text as the name of a class."""
    if not isinstance(value, str):
        return value
    if len(value) > _LONGEST_CLASS_NAME or not re.search(_CLASS_NAME, value):
        raise ValueError("expected small letters, digits, `-` and `.`, at most 253")
    return value


# pydantic tells of a pattern as it is written, so `_class_name` says first what is wrong.
ClassName = Annotated[
    str,
    Field(pattern=_CLASS_NAME, max_length=_LONGEST_CLASS_NAME),
    BeforeValidator(_class_name),
]

# Mechanism that a profile may name → the kind of disk that it makes.
Kinds = Mapping[str, tier.DiskKind]
KINDS: Kinds = {kind: kind for kind in get_args(tier.DiskKind)}


@dataclass(frozen=True)
class Mechanism:
    """A tier mechanism as a profile names it, and the kind of disk that it makes."""

    name: str
    kind: tier.DiskKind


def _mechanism(name: object, info: ValidationInfo) -> Mechanism:
    """The mechanism of that name. ValueError if a profile may not name it.

    `info.context` has the mechanisms that may be named, each with its kind.
    """
    # Mechanisms of extensions are only known to who reads the profile.
    kinds: Kinds = info.context or KINDS
    if name == DRY:
        raise ValueError(
            "`dry` is for rehearsals: `tierbench rehearse` needs no change here"
        )
    if name == "cgroup" and name not in kinds:
        raise ValueError(
            "`cgroup` was removed, because control groups hold neither latency "
            "nor burst. Write `emulated`, or `mounted` for a real disk"
        )
    if str(name) not in kinds:
        names = ", ".join([kind for kind in kinds if kind != DRY])
        raise ValueError(
            f"unknown; known: {names}. An extension that is not installed may bring others: "
            "`tierbench list`"
        )
    return Mechanism(str(name), kinds[str(name)])


Enforcement = Annotated[Mechanism, BeforeValidator(_mechanism)]
EMULATED = Mechanism("emulated", "emulated")


class RatesYaml(Strict):
    """IOPS, throughput, or both."""

    iops: Positive | None = None
    bytes_per_s: BytesPerS | None = Field(None, alias="throughput")

    @model_validator(mode="after")
    def _any(self) -> Self:
        # A tier with neither would limit nothing.
        if not (self.iops or self.bytes_per_s):
            raise ValueError("give `iops` or `throughput`, or both")
        return self


class BurstYaml(RatesYaml):
    duration_s: Annotated[Seconds, Field(gt=0)] = Field(alias="duration")
    # Full, unlike the bucket of a catalog row, which begins empty (`tier_catalog/buying`).
    start_pct: Annotated[float, BeforeValidator(bucket_pct)] = Field(
        100.0, alias="start"
    )


class PriceYaml(Strict):
    monthly: Annotated[float, Field(ge=0)]
    currency: str
    region: str
    as_of: Text
    source: str


PriceKey = Annotated[tier.Price, ReadBy(PriceYaml)]


class AnyTierYaml(tier_keys.RealDiskYaml):
    """The keys that every tier may have: one with its own numbers, or one of a catalog row."""

    enforcement: Enforcement = EMULATED
    iops: Positive | None = None
    throughput: BytesPerS | None = None
    count: Positive = 1
    shared_limit: Annotated[tier.Limits, ReadBy(RatesYaml)] | None = None
    burst_time_scale: Annotated[float, Field(ge=1)] = 1.0
    recorded: str | None = None
    storage_class: ClassName | None = None
    price: PriceKey | None = None

    def disk(self, storage_class: tier.ClassWanted | None) -> tier.AnyDisk:
        """The disk that the mechanism makes, without keys that its kind of disk does not have."""
        given = dict(self)
        given["enforcement"] = self.enforcement.name
        given["storage_class"] = storage_class
        given["snapshots"] = None
        if self.snapshots:
            given["snapshots"] = self.snapshots.build()
        kind = tier.DISKS[self.enforcement.kind]
        # `path` and `disks` mean nothing to an emulated disk, whose record has no such field.
        names = [field.name for field in fields(kind)]
        return kind(**{name: given[name] for name in names if name in given})


class TierYaml(AnyTierYaml):
    read_latency: Seconds | None = None
    write_latency: Seconds | None = None
    burst: Annotated[tier.Burst, ReadBy(BurstYaml)] | None = None
    size: Bytes | None = None
    io_unit: Bytes = 262_144
    source: str = ""
    as_of: Text = ""
    notes: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        self._check_kind()
        self._check_burst()
        return self

    def _check_kind(self) -> None:
        """ValueError if the mechanism lacks what its disks are made of."""
        kind = self.enforcement.kind
        if kind == "mounted" and not self.on_real_disks:
            raise ValueError(
                "a mounted tier needs `disks`, or one `path`: where it is mounted"
            )
        has_rates = self.iops and self.throughput
        # A tier with a real disk's path was meant to be `mounted`, which another check says.
        if kind == "emulated" and not has_rates and not self.on_real_disks:
            raise ValueError("an emulated tier needs `iops` and `throughput`")
        if kind == "storage-class" and not self.storage_class:
            raise ValueError(
                "`storage-class` needs a `storage_class`, or a catalog row as `type`, to make one"
            )
        # The device splits requests at the unit, and itself takes 4 KiB to 1 MiB.
        if kind == "emulated" and not 4096 <= self.io_unit <= 2**20:
            raise ValueError("`io_unit` of an emulated tier is 4 KiB to 1 MiB")

    def _check_burst(self) -> None:
        """ValueError if a burst is no higher than what it is above."""
        burst = self.burst
        if burst is None:
            return
        # The bucket is (peak - base) x duration, and must hold something.
        if burst.iops and self.iops and burst.iops <= self.iops:
            raise ValueError(
                "`burst.iops` is not above `iops`: a burst is the higher of the two"
            )
        rate = burst.bytes_per_s
        if rate and self.throughput and rate <= self.throughput:
            raise ValueError(
                "`burst.throughput` is not above `throughput`: a burst is the higher"
            )

    def build(self, name: str, title: str) -> tier.Tier:
        wanted = None
        if self.storage_class:
            # Some providers' limits follow from the size of the claim alone.
            wanted = tier.ClassWanted(self.storage_class, size_bytes=self.size)
        limits = tier.Limits(
            self.iops, self.throughput, burst=self.burst, io_unit_bytes=self.io_unit
        )
        latency = tier.Latencies(self.read_latency, self.write_latency)
        origin = tier.Origin(source=self.source, as_of=self.as_of, notes=self.notes)
        return tier.Tier(
            name=name,
            title=title,
            count=self.count,
            shared=self.shared_limit,
            limits=limits,
            disk=self.disk(wanted),
            latency=latency,
            price=self.price,
            origin=origin,
        )


def misspelt_type(where: str, content: object) -> list[Mistake]:
    """The mistake of a tier that was meant to name a catalog row, but whose key `type` is misspelt.

    Otherwise it would be read as a tier with its own numbers. The mistakes would then be about all
    that the row has and the file lacks, and not about the key.
    """
    if not isinstance(content, dict) or "type" in content:
        return []
    keys = keys_at(TierYaml, ())
    for key in content.keys() - keys:
        if nearest(key, {*keys, "type"}) == "type":
            text = "unknown key: did you mean type?"
            return [
                Mistake.at(KeyPlace(where, ("tier", str(key))), text, "unknown name")
            ]
    return []


class NodeYaml(Strict):
    cpus: Annotated[float, Field(gt=0)]
    memory_bytes: Annotated[Bytes, Field(ge=MIN_MEMORY_BYTES)] = Field(alias="memory")
    disk_bytes: Annotated[Bytes, Field(ge=MIN_DISK_BYTES)] = Field(alias="disk")


NodeKey = Annotated[model.NodeSize, ReadBy(NodeYaml)]


class ClusterYaml(Strict):
    database: str = "auto"
    version: Text | None = None
    nodes: Positive | None = None  # an existing cluster has as many as hosts
    replication_factor: Positive
    clients: Positive = 1
    client: Literal["outside", "beside"] = "outside"
    network_bytes_per_s: LinkRate | None = Field(None, alias="network")
    port: Annotated[int, Field(gt=0, lt=65536)] | None = None
    vm: str | None = None
    vm_price: PriceKey | None = None
    # Sizes by scale; may be unknown of an existing cluster.
    node: Mapping[str, NodeKey] = {}
    settings: Mapping[str, Text] = {}
    existing: Mapping[str, Texts] = {}
    node_of: Mapping[str, Mapping[str, NodeKey]] = {}
    settings_of: Mapping[str, Mapping[str, Mapping[str, Text]]] = {}
    version_of: Mapping[str, Text] = {}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        # Each without the other would measure another cluster than was meant.
        if bool(self.existing) != (self.database == "existing"):
            raise ValueError("`existing` and `database: existing` belong together")
        if self.existing:
            self._check_keys_of_existing()
        # A cluster may have nodes that no host stands for, and never fewer nodes than hosts.
        if self.existing and self.nodes and self.nodes < self.hosts:
            raise ValueError(
                f"`nodes` is {self.nodes}, with {self.hosts} hosts: leave it out"
            )
        nodes = self.nodes or self.hosts
        if nodes and self.replication_factor > nodes:
            raise ValueError(
                "`replication_factor` is above `nodes`: a replica needs its own node"
            )
        return self

    def _check_keys_of_existing(self) -> None:
        """ValueError if a key of an existing cluster is only for nodes that tierbench starts."""
        only_if_started = {
            "port": self.port,
            "node_of": self.node_of,
            "settings_of": self.settings_of,
            "version_of": self.version_of,
            "network": self.network_bytes_per_s,
            "client": self.client == "beside",
        }
        for key, value in only_if_started.items():
            if value:
                raise ValueError(
                    f"`{key}` applies to nodes that tierbench starts: leave it out here"
                )

    @property
    def hosts(self) -> int:
        return len(addresses.read(self.existing.get("hosts", "")).servers)

    def build(self, scale: str) -> model.ClusterSpec:
        at_scale = dict(self)
        at_scale["nodes"] = self.nodes or max(1, self.hosts)
        # The size of the nodes may be unknown of a cluster that others run.
        at_scale["node"] = None
        if self.node:
            at_scale["node"] = self.node[scale]
        at_scale["node_of"] = _at_scale(self.node_of, scale)
        at_scale["settings_of"] = _at_scale(self.settings_of, scale)
        return model.ClusterSpec(**at_scale)


def _at_scale(
    by_database: Mapping[str, Mapping[str, _Kept]], scale: str
) -> dict[str, _Kept]:
    """Database → what it has at that scale. Databases with nothing there are left out."""
    kept = {}
    for name, by_scale in by_database.items():
        if scale in by_scale:
            kept[name] = by_scale[scale]
    return kept


class PlacingYaml(Strict):
    context: str | None = None
    namespace: Text | None = None
    node_selector: Mapping[str, Text] = {}
    client_selector: Mapping[str, Text] = {}
    tolerations: tuple[Mapping[str, Text], ...] = ()
    zones: tuple[Text, ...] = ()
    image_pull_secrets: tuple[str, ...] = ()


class NamedTierYaml(Strict):
    """A profile whose tier names a catalog row; `tier_catalog` reads the row."""

    question: str
    title: str = ""  # empty: the title of the row
    tier: Any
    cluster: ClusterYaml
    platform: str | None = None
    kubernetes: Annotated[model.Placing, ReadBy(PlacingYaml)] | None = None
    machines: tuple[Text, ...] = ()
    client_machine: Text | None = None


class ProfileYaml(NamedTierYaml):
    title: str
    tier: TierYaml


class ScaleYaml(Strict):
    dataset: Mapping[str, Parameter]
    threads: Positive
    loader_threads: Positive = 2
    warmup_s: Seconds = Field(alias="warmup")
    measure_s: Annotated[Seconds, Field(gt=0)] = Field(alias="measure")
    lost_after_s: Seconds | None = Field(None, alias="lost_after")
    slow: SlowTexts = ()
    options: Mapping[str, Parameter] = {}


class WorkloadYaml(Strict):
    title: str
    generator: str
    script: str
    dataset: str
    database: Literal["none"] | None = None
    statements_per_transaction: Positive | None = None
    options: Mapping[str, Parameter] = {}
    slo: Text | None = None
    writes: bool = True
    warm: bool = True
    settle: bool = False
    scales: Annotated[Mapping[str, ScaleYaml], Field(min_length=1)]
