"""What a price of the catalog may hold, and the document that it is from, as frozen records."""

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

from orchestrator.keys.schema import AsSeconds, AsText
from orchestrator.keys.strict_records import Strict

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
    """The source of that name in `info.context`, the `sources` of the file."""
    sources: Mapping[str, Any] = {}
    if isinstance(info.context, Mapping):
        sources = info.context
    if not isinstance(value, str) or value not in sources:
        names = sorted(str(name) for name in sources)
        raise ValueError(f"unknown source; `sources` has {', '.join(names) or 'none'}")
    keys: Mapping[str, Any] = {}
    if isinstance(sources[value], Mapping):
        keys = sources[value]
    # The source is not validated here. A wrong one is reported in its own place, not by each row
    # that cites it.
    text = str(keys.get("text"))
    as_of = str(keys.get("as_of"))
    return Source.model_construct(text=text, as_of=as_of, verified=keys.get("verified"))


Cited = Annotated[Source, BeforeValidator(_cited)]


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
    # 0 is not billed, so that it adds nothing; None is unknown, so that there is no price at all.
    per_disk: Amount | None = 0
    per_hour: Amount | None = 0  # the price of a virtual machine
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
        # Otherwise a part of the quantity would be priced twice, or not at all.
        if any(low.above >= high.above for low, high in pairwise(steps)):
            raise ValueError("the steps must rise by `above`")
        return steps

    @model_validator(mode="after")
    def _whole(self) -> Self:
        # MB/s and MiB/s are 5 % apart, and so would be the price.
        if self.per_throughput and self.unit is None:
            raise ValueError("`per_throughput` needs `unit`")
        return self
