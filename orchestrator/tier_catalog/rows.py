"""What a catalog file may hold, as frozen records: disk types, prices, VM sizes.

YAML says `throughput: 125MB/s`, the records say `bytes_per_s`. What a source does not tell is None.
Only `emulated_latency` and `emulated_io_unit` are assumptions of ours.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orchestrator.keys.schema import Bytes, BytesPerS, Positive, RatesYaml
from orchestrator.keys.strict_records import Strict
from orchestrator.tier import Burst, Limits, lower, times
from orchestrator.tier_catalog.price_rows import Cited, PriceRow, Seconds, Source, Text
from orchestrator.tier_catalog.rules import Provisioned, SizeRule
from orchestrator.units import format_bytes


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
        # A time says nothing without them: at depth 32 a disk takes longer than at 1.
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
        # A bucket is empty after some time; what is billed by use never ends.
        if (self.model == "credit") != (self.duration_s is not None):
            raise ValueError("credit burst needs `duration`; on-demand burst has none")
        return self

    @property
    def limits(self) -> Burst:
        return Burst(self.iops, self.bytes_per_s, self.duration_s or math.inf)


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
    # Rates of Azure, chosen when the disk is created.
    performance_plus: Rates | None = None
    prices: tuple[PriceRow, ...] = ()
    notes: str = ""

    @property
    def limits(self) -> Limits:
        burst = None
        if self.burst:
            burst = self.burst.limits
        return Limits(self.iops, self.bytes_per_s, self.write_iops, burst)


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
        # Each form says by itself what the limits are: two could contradict each other.
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
        # Azure states of its older machines only what each disk may do.
        iops_of_disks = None
        if disks:
            iops_of_disks = times(self.iops_per_disk, disks)
        burst = None
        if self.burst:
            burst = self.burst.limits
        return Limits(
            iops=lower(self.iops, iops_of_disks),
            # Emulated disks have one total of reads and
            # writes: the lower of both caps is never too fast.
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
    memory_bytes: Bytes | None = Field(None, alias="memory")
    max_disks: Positive | None = None
    uncached: Caps | None = None
    by_type: Mapping[str, Caps] = {}
    cached: CachedCaps | None = None
    prices: tuple[PriceRow, ...] = ()
    notes: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        # Nobody could tell which cap holds for a type if there were both.
        if (self.uncached is None) == (not self.by_type):
            raise ValueError("a VM size has either `uncached` or `by_type`")
        return self


class CatalogFile(Strict):
    # It stands before the slash of each name, as in `azure/P15`.
    provider: Annotated[str, Field(pattern=r"^[a-z]+$")]
    sources: Mapping[str, Source]
    types: Mapping[str, DiskType] = {}
    vms: Mapping[str, VmSize] = {}
