"""What a catalog file may hold, as frozen records: disk types, prices, VM sizes.

YAML says `throughput: 125MB/s`, the records say `bytes_per_s`. Numbers with a `unit` beside
them (the coefficients of a rule) are in that unit, as the vendor writes them. What a source
does not tell is None. Only `emulated_latency` and `emulated_io_unit` are assumptions of ours.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from orchestrator.keys.schema import (
    AsSeconds,
    AsText,
    Bytes,
    BytesPerS,
    Positive,
    RatesYaml,
)
from orchestrator.keys.strict_yaml import Strict
from orchestrator.tier import Burst, Limits, lower, times
from orchestrator.units import format_bytes

GIB = 2**30
TIB = 2**40
UNIT_BYTES = {"MB/s": 10**6, "MiB/s": 2**20}

Amount = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, AsSeconds, Field(gt=0)]
Text = Annotated[str, AsText, Field(min_length=1)]
Unit = Literal["MB/s", "MiB/s"]


class Source(Strict):
    """A document: who wrote it, title or repository path, and the date its figures are of.

    `verified`: of prices, whether they were read at the provider's own service or page, and not in
    somebody's copy of it; None: nobody said.
    """

    text: Text
    as_of: Text
    verified: bool | None = None

    def __str__(self) -> str:
        return f"{self.text}, {self.as_of}"


def _cited(value: object, info: ValidationInfo) -> object:
    """The source of that name in `info.context`, the `sources` of the file.

    One that is wrong itself is reported there, and not by each row that cites it.
    """
    sources: Mapping[str, Any] = {}
    if isinstance(info.context, Mapping):
        sources = info.context
    if not isinstance(value, str) or value not in sources:
        names = sorted(str(name) for name in sources)
        raise ValueError(f"unknown source; `sources` has {', '.join(names) or 'none'}")
    keys: Mapping[str, Any] = {}
    if isinstance(sources[value], Mapping):
        keys = sources[value]
    text = str(keys.get("text"))
    as_of = str(keys.get("as_of"))
    return Source.model_construct(text=text, as_of=as_of, verified=keys.get("verified"))


Cited = Annotated[Source, BeforeValidator(_cited)]


class Latency(Strict):
    """The latency as documented, and the bound that the words imply (for filtering)."""

    documented: Text
    below_s: Seconds | None = Field(None, alias="below")


class EmulatedTime(Strict):
    """The time of a single I/O in one direction: a published mean, or our assumption.

    In YAML an assumption is the time alone. A measurement has all of `source`, `depth`, which is
    how many I/Os were in flight, and `block`, their size.
    """

    mean_s: Seconds = Field(alias="mean")
    source: Cited | None = None
    depth: Positive | None = None
    block_bytes: Bytes | None = Field(None, alias="block")

    @model_validator(mode="before")
    @classmethod
    def _as_mean(cls, value: object) -> object:
        if isinstance(value, Mapping):
            return value
        return {"mean": value}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        parts = (self.source, self.depth, self.block_bytes)
        if any(parts) and not all(parts):
            raise ValueError("a measured time has all of `source`, `depth` and `block`")
        return self

    @property
    def measured(self) -> str:
        """Whose measurement it is, and of which I/Os; empty of an assumption."""
        if self.source is None or self.block_bytes is None:
            return ""
        block = format_bytes(self.block_bytes)
        return f"{self.source}, at depth {self.depth} with {block}"


class EmulatedLatency(Strict):
    """What no vendor states: single I/Os of a disk that is not at a limit.

    A direction of which nobody published a measurement is our assumption, within what is
    documented, and decides nothing.
    """

    read: EmulatedTime
    write: EmulatedTime


class BurstRow(RatesYaml):
    """`credit`: a bucket that holds the burst for `duration`. `on-demand`: opt-in and billed."""

    model: Literal["credit", "on-demand"]
    duration_s: Seconds | None = Field(None, alias="duration")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.model == "credit") != (self.duration_s is not None):
            raise ValueError("credit burst needs `duration`; on-demand burst has none")
        return self

    @property
    def limits(self) -> Burst:
        return Burst(self.iops, self.bytes_per_s, self.duration_s or math.inf)


class Step(Strict):
    """What a unit above `above` costs a month, until the next step. None: billed, not known."""

    above: Amount = 0
    price: Amount | None


class PriceRow(Strict):
    """List price components per month. Absent: not billed. None: billed, but not known to us."""

    currency: Text
    region: Text
    as_of: Text | None = None
    source: Cited
    per_disk: Amount | None = 0
    per_hour: Amount | None = 0  # of a virtual machine
    per_gib: Amount | None = 0
    per_iops: tuple[Step, ...] = ()
    per_throughput: tuple[Step, ...] = ()
    unit: Unit | None = None
    per_10k_operations: Amount | None = 0

    @property
    def date(self) -> str:
        """When it was read."""
        return self.as_of or self.source.as_of

    @field_validator("per_iops", "per_throughput")
    @classmethod
    def _rising(cls, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        if any(low.above >= high.above for low, high in pairwise(steps)):
            raise ValueError("the steps must rise by `above`")
        return steps

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.per_throughput and self.unit is None:
            raise ValueError("`per_throughput` needs `unit`")
        return self


class Rates(Strict):
    iops: Positive
    bytes_per_s: BytesPerS = Field(alias="throughput")


class SizeRow(Strict):
    """One fixed size. Where reads and writes are limited apart, `iops` is the limit of reads."""

    size_bytes: Bytes | None = Field(alias="size")
    iops: Positive
    write_iops: Positive | None = None
    bytes_per_s: BytesPerS | None = Field(alias="throughput")
    burst: BurstRow | None = None
    performance_plus: Rates | None = None  # of Azure, chosen when the disk is created
    prices: tuple[PriceRow, ...] = ()
    notes: str = ""

    @property
    def limits(self) -> Limits:
        burst = None
        if self.burst:
            burst = self.burst.limits
        return Limits(self.iops, self.bytes_per_s, self.write_iops, burst)


class SizeRange(Strict):
    min_bytes: Bytes = Field(alias="min")
    max_bytes: Bytes = Field(alias="max")


class IopsRule(Strict):
    """IOPS one may provision: max(`min`, `min_per_gib` × GiB) to
    min(`max`, max(`min`, `max_per_gib` × GiB)).

    `included` comes free and is the default; without it the number must be given.
    """

    min: Positive
    max: Positive
    included: Positive | None = None
    min_per_gib: Amount | None = None
    min_per_gib_source: Cited | None = None  # if it is not that of the type
    max_per_gib: Amount | None = None


class ThroughputRule(Strict):
    """Throughput in `unit`: provisioned up to min(`max`, `max_per_iops` × IOPS).

    Or following the IOPS by a named formula (`orchestrator/tier_catalog/limits.py`).
    """

    unit: Unit
    max: Amount
    min: Amount | None = None
    included: Amount | None = None
    max_per_iops: Amount | None = None
    follows: Literal["per-iops", "aws-io1"] | None = None


class Provisioned(Strict):
    size: SizeRange
    iops: IopsRule
    throughput: ThroughputRule


class Line(Strict):
    """min(`max`, `base` + `per_gib` × GiB)."""

    base: Amount = 0
    per_gib: Amount
    max: Amount | None = None


class LinearRule(Strict):
    formula: Literal["linear"]
    size: SizeRange | None = None
    iops: Line
    write_iops: Line | None = None
    throughput: Line | None
    unit: Unit


class Gp2Rule(Strict):
    """AWS gp2: IOPS by size with a bucket of I/O credits, throughput in two bands."""

    formula: Literal["aws-gp2"]
    size: SizeRange
    iops_per_gib: Amount
    min_iops: Positive
    max_iops: Positive
    burst_iops: Positive
    bucket_ios: Positive
    small_bytes_per_s: BytesPerS = Field(alias="small_throughput")
    small_up_to_gib: Positive
    large_bytes_per_s: BytesPerS = Field(alias="large_throughput")
    large_from_gib: Positive


class HddRule(Strict):
    """AWS st1 and sc1: throughput by size, with a bucket of bytes; each I/O costs one unit."""

    formula: Literal["aws-hdd"]
    size: SizeRange
    per_tib: BytesPerS
    max: BytesPerS
    burst_per_tib: BytesPerS
    burst_max: BytesPerS
    bucket_per_tib: Bytes


SizeRule = Annotated[LinearRule | Gp2Rule | HddRule, Field(discriminator="formula")]


class DiskType(Strict):
    """A type of disk: fixed `sizes`, or limits `by_size`, or `provisioned` within rules.

    `volume_type`: what its provider's Kubernetes driver calls it; None if that makes none.
    """

    title: Text
    volume_type: Text | None = None
    source: Cited
    latency: Latency | None
    emulated_latency: EmulatedLatency | None
    io_unit_bytes: Bytes | None = Field(alias="io_unit")
    emulated_io_unit_bytes: Bytes | None = Field(None, alias="emulated_io_unit")
    shared_per_vm: bool = False
    emulate: bool = True
    notes: str = ""
    sizes: Mapping[str, SizeRow] | None = None
    by_size: SizeRule | None = None
    provisioned: Provisioned | None = None
    prices: tuple[PriceRow, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        forms = (self.sizes, self.by_size, self.provisioned)
        if sum(form is not None for form in forms) != 1:
            raise ValueError(
                "a type has exactly one of `sizes`, `by_size` and `provisioned`"
            )
        if self.emulate and not (self.emulated_latency and self.unit_bytes):
            raise ValueError(
                "an emulated type needs `emulated_latency` and an I/O unit"
            )
        return self

    @property
    def unit_bytes(self) -> int | None:
        """The I/O unit to emulate: the documented one, else our assumption."""
        return self.io_unit_bytes or self.emulated_io_unit_bytes


class Caps(Strict):
    """What a VM lets through to its disks; of reads alone where `write_…` says what of writes."""

    iops: Positive | None = None
    bytes_per_s: BytesPerS | None = Field(None, alias="throughput")
    write_iops: Positive | None = None
    write_bytes_per_s: BytesPerS | None = Field(None, alias="write_throughput")
    iops_per_disk: Positive | None = None
    burst: BurstRow | None = None

    def limits(self, disks: int | None) -> Limits:
        """The limits with so many disks; None: it is not known how many."""
        iops_of_disks = None
        if disks:
            iops_of_disks = times(self.iops_per_disk, disks)
        burst = None
        if self.burst:
            burst = self.burst.limits
        return Limits(
            iops=lower(self.iops, iops_of_disks),
            bytes_per_s=lower(self.bytes_per_s, self.write_bytes_per_s),
            write_iops=self.write_iops,
            burst=burst,
        )


class CachedCaps(Rates):
    size_bytes: Bytes | None = Field(None, alias="size")


class VmSize(Strict):
    """A VM size: `uncached` caps for all its disks together, or caps per disk type."""

    source: Cited
    vcpus: Positive | None = None
    max_disks: Positive | None = None
    uncached: Caps | None = None
    by_type: Mapping[str, Caps] = {}
    cached: CachedCaps | None = None
    prices: tuple[PriceRow, ...] = ()
    notes: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.uncached is None) == (not self.by_type):
            raise ValueError("a VM size has either `uncached` or `by_type`")
        return self


class CatalogFile(Strict):
    provider: Annotated[str, Field(pattern=r"^[a-z]+$")]
    sources: Mapping[str, Source]
    types: Mapping[str, DiskType] = {}
    vms: Mapping[str, VmSize] = {}
