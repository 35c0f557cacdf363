"""The rules by which a type's limits follow from its size, or from what is provisioned.

Numbers with a `unit` beside them (the coefficients of a rule) are in that unit, as the vendor
writes them.
"""

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.keys.schema import Bytes, BytesPerS, Positive
from orchestrator.keys.strict_records import Strict
from orchestrator.tier_catalog.price_rows import Amount, Cited, Unit

GIB = 2**30
TIB = 2**40


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
    # Azure's Ultra Disk and Google's Hyperdisk Extreme refuse fewer; most types have no such rule.
    min_per_gib: Amount | None = None
    min_per_gib_source: Cited | None = None  # the source, if it is not that of the type
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
    # `per-iops` is `max_per_iops` × IOPS, as of AWS io2; io1 has two bands of its own.
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
    # AWS gives 5.4 million I/Os: 3,000 IOPS for at least 30 minutes.
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
    # AWS gives a bucket as many bytes as the disk holds.
    bucket_per_tib: Bytes


SizeRule = Annotated[LinearRule | Gp2Rule | HddRule, Field(discriminator="formula")]
