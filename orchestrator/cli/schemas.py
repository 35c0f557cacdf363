"""`tierbench schema`: the JSON Schema of what a person writes, from the records that read it.

Keys, types, units and ranges are in it, so that an editor can complete and mark them. What several
keys must be to each other, and whether a name is known, only reading the file tells.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typer import Argument

from orchestrator.cli import completion
from orchestrator.cli.app import App
from orchestrator.cli.options import takes
from orchestrator.errors import UsageError
from orchestrator.keys import schema as records
from orchestrator.keys.strict_yaml import shipped
from orchestrator.tier_catalog.choosing import Reference
from orchestrator.tier_catalog.prices import PriceList
from orchestrator.tier_catalog.rows import PriceRow, Text


class ProfileOfRow(records.NamedTierYaml):
    """A profile whose tier names a row of the catalog."""

    tier: str | Reference
    cluster: str | records.ClusterYaml  # type: ignore[assignment]


class ProfileOfNumbers(records.ProfileYaml):
    """A profile whose tier has its own numbers."""

    cluster: str | records.ClusterYaml  # type: ignore[assignment]


class Components(PriceRow):
    """A row's price: currency and region if they are not the list's."""

    model_config = ConfigDict(json_schema_extra=lambda keys: keys["properties"].pop("source"))

    currency: Text = ""
    region: Text = ""
    source: Any = None  # the list's


class PriceListOfRows(PriceList):
    prices: Mapping[str, Components]  # type: ignore[assignment]


FILES: dict[str, Any] = {
    "profile": ProfileOfRow | ProfileOfNumbers,
    "cluster": records.ClusterYaml,
    "workload": records.WorkloadYaml,
    "price-list": PriceListOfRows,
}
_complete = completion.completing(lambda _: FILES)


@takes()
def schema(
    app: App, kind: Annotated[str, Argument(help=", ".join(FILES), autocompletion=_complete)]
) -> None:
    """Prints the JSON Schema of a profile, cluster, workload or price list."""
    if kind not in FILES:
        raise UsageError(f"no schema of {kind!r}", advice=f"there are {', '.join(FILES)}")
    app.out.out(json_schema(kind), end="")


# Bounds of what a quantity becomes, which say nothing of how it is written; and names that only
# repeat the key.
_DROPPED = frozenset({"ge", "gt", "le", "lt", "title"})


class _Generator(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        return dft.name if isinstance(dft, records.Mechanism) else super().encode_default(dft)


def json_schema(kind: str) -> str:
    """The schema of one of FILES, as JSON."""
    keys = _tidied(TypeAdapter(FILES[kind]).json_schema(schema_generator=_Generator))
    words = shipped("orchestrator.keys", "words.yaml")
    for record, of in ((kind, keys), *keys.get("$defs", {}).items()):
        for key, what in of.get("properties", {}).items():
            what["description"] = words.get(f"{record}.{key}") or words[key]
    title = f"tierbench: a {kind.replace('-', ' ')}"
    head = {"$schema": GenerateJsonSchema.schema_dialect, "title": title}
    return json.dumps({**head, **keys}, indent=2, ensure_ascii=False) + "\n"


def _tidied(schema: Any, named: bool = False) -> Any:
    """`named`: the mapping's keys are names that a person may write, not words of JSON Schema."""
    if isinstance(schema, list):
        return [_tidied(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _tidied(value, key in ("properties", "$defs") and not named)
        for key, value in schema.items()
        if named or not (key in _DROPPED or (key == "default" and value in (None, "", {}, [])))
    }
