"""What a profile asks of the catalog: a row by its name, with parameters."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from orchestrator import units
from orchestrator.keys.schema import AnyTierYaml, bucket_pct
from orchestrator.tier import Latencies
from orchestrator.tier_catalog import latencies, limits as limits_of
from orchestrator.tier_catalog.catalog import provider_of
from orchestrator.tier_catalog.price_rows import PriceRow, Seconds
from orchestrator.tier_catalog.rows import DiskType, SizeRow

_Size = Annotated[int, BeforeValidator(units.parse_size), Field(gt=0)]


def _burst_word(value: object) -> object:
    """`off`, `on-demand`, or how full the bucket is."""
    if value is None:
        return value
    if value is False:  # YAML reads a bare `off` as False
        value = "off"
    return bucket_pct(value, "off", "on-demand")


class Reference(AnyTierYaml):
    """What a profile may write under `tier` when it names a row."""

    type: str
    size_bytes: _Size | None = Field(None, alias="size")
    burst: Annotated[str | float | None, BeforeValidator(_burst_word)] = None
    performance_plus: bool = False
    read_latency_s: Seconds | None = Field(None, alias="read_latency")
    write_latency_s: Seconds | None = Field(None, alias="write_latency")
    region: str | None = None
    operations_per_month: Annotated[float, Field(ge=0)] | None = None


@dataclass(frozen=True)
class AskedRow:
    """What was asked for and the row that it names. `size` None: its size is chosen."""

    asked: Reference
    full_name: str
    kind: DiskType
    size_name: str | None
    size: SizeRow | None
    size_bytes: int | None

    @property
    def name(self) -> str:
        """The name as the catalog has it: that of the fixed size, or of the type."""
        if self.size is None:
            return self.full_name
        return f"{provider_of(self.full_name)}/{self.size_name}"

    @property
    def gib(self) -> int:
        """Whole GiB, as billed; 0 where the size is not known."""
        size_bytes = self.asked.size_bytes
        if self.size:
            size_bytes = self.size.size_bytes
        return limits_of.whole_gib(size_bytes or 0)

    @property
    def latency(self) -> Latencies:
        # Nothing is emulated of a cluster that others run: its latency is what it is.
        emulated = None
        if self.asked.enforcement.kind != "existing":
            emulated = self.kind.emulated_latency
        return latencies.of_row(
            emulated, self.asked.read_latency_s, self.asked.write_latency_s
        )

    @property
    def price_rows(self) -> tuple[PriceRow, ...]:
        # A fixed size has a price of its own; a type sold by GiB has one for all.
        if self.size and self.size.prices:
            return self.size.prices
        return self.kind.prices
