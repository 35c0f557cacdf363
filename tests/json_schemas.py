"""docs/schema/*.json as the records make them that read what a person writes.

A record says what a value becomes; `WRITTEN` says what may be written for it, as JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args, get_origin

import typer
from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from orchestrator.cli import main
from orchestrator.cli.common import campaign_files, option_values
from orchestrator.keys import schema as records, yaml_text
from orchestrator.tier_catalog.asked_rows import Reference
from orchestrator.tier_catalog.price_lists import PriceList
from orchestrator.tier_catalog.price_rows import PriceRow, Text
from tests import TESTS

Json = dict[str, Any]


class ProfileOfRow(records.NamedTierYaml):
    """A profile whose tier names a row of the catalog."""

    tier: str | Reference
    cluster: str | records.ClusterYaml  # type: ignore[assignment]


class ProfileOfNumbers(records.ProfileYaml):
    """A profile whose tier has its own numbers."""

    cluster: str | records.ClusterYaml  # type: ignore[assignment]


class Components(PriceRow):
    """A row's price: currency and region if they are not the list's."""

    model_config = ConfigDict(
        json_schema_extra=lambda keys: keys["properties"].pop("source")
    )

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
MECHANISMS = [kind for kind in records.KINDS if kind != records.DRY]
WORDS = yaml_text.parse("schema_words.yaml", (TESTS / "schema_words.yaml").read_text())

# ------------------------------------------------------------------ what may be written

DIGITS = r"\s*(([0-9]{1,3}(,[0-9]{3})+|[0-9][0-9_]*)(\.[0-9]+)?)\s*"
SIZES = ["b", *(f"{x}b" for x in "kmgt"), *(f"{x}ib" for x in "kmgt")]


def any_case(units: Iterable[str]) -> str:
    """A pattern of units, without inline flags: JavaScript has none."""
    return "|".join("".join(f"[{x}{x.upper()}]" for x in unit) for unit in units)


def text(pattern: str) -> Json:
    return {"pattern": pattern, "type": "string"}


def any_of(*forms: Json) -> Json:
    return {"anyOf": list(forms)}


SIZE = text(f"^{DIGITS}({any_case(['', *SIZES])})\\s*$")
SIZE_WITH_UNIT = text(f"^{DIGITS}({any_case(SIZES)})\\s*$")
# A small `b` is a bit.
RATE = text(f"^{DIGITS}(([kKmMgGtT][iI]?)?B)(/[sS]|ps)\\s*$")
LINK_RATE = text(f"^{DIGITS}({any_case(['kbit', 'mbit', 'gbit'])})(/[sS])?\\s*$")
TIME = text(f"^{DIGITS}(us|µs|ms|s|m|min|h|d|w)\\s*$")
DIRECTORY = text("^/")
SLOW = r"[^=\s]+=([0-9.]+%|[0-9.]+x|stall),[^@\s]+(@\S+)?"
SLOW_DISK = text(f"^{SLOW}$")
BARE: list[Json] = [
    {"type": kind} for kind in ("string", "integer", "number", "boolean")
]
PART: list[Json] = [
    {"maximum": 100, "minimum": 0, "type": "number"},
    text(r"^[0-9.]+\s*%\s*$"),
]
LIST: Json = {"type": "array"}

# Name of a validator → what may be written where it reads, of what its result may be.
WRITTEN: dict[str, Callable[[Json], Json]] = {
    "parse_bytes": lambda _: any_of(SIZE, {"exclusiveMinimum": 0, "type": "number"}),
    "parse_size": lambda _: SIZE_WITH_UNIT,
    "parse_bytes_per_s": lambda _: RATE,
    "parse_link_rate": lambda _: LINK_RATE,
    "parse_seconds": lambda _: TIME,
    "as_text": lambda _: any_of(*BARE),
    "as_texts": lambda _: any_of(*BARE, {"items": any_of(*BARE), **LIST}),
    "_mechanism": lambda _: {"enum": MECHANISMS, "type": "string"},
    "bucket_pct": lambda _: any_of(
        {"enum": ["full", "empty"], "type": "string"}, *PART
    ),
    # YAML reads a bare `off` as False.
    "_burst_word": lambda _: any_of(
        {"enum": ["full", "empty", "off", "on-demand", False]}, *PART, {"type": "null"}
    ),
    "_absolute": lambda _: DIRECTORY,
    "_path_of_data": lambda disks: any_of(disks, DIRECTORY),
    "_by_node": lambda nodes: any_of(
        DIRECTORY, nodes["additionalProperties"]["anyOf"][0], nodes
    ),
    "_way_of_snapshots": lambda ways: any_of(
        ways, {"enum": ["copy", "none"], "type": "string"}
    ),
    "_option_list": lambda _: any_of(
        {"type": "string"}, {"items": {"type": "string"}, **LIST}
    ),
    "slow_disk_in": lambda _: SLOW_DISK,
    "texts_in": lambda texts: any_of(text(f"^{SLOW}(\\s+{SLOW})*$"), texts),
    "_cited": lambda source: source,
    # These only say in better words what the schema has already.
    "_row_or_keys": lambda forms: forms,
    "_class_name": lambda name: name,
}


class Generator(GenerateJsonSchema):
    def function_before_schema(self, schema: Any) -> Json:
        read = schema["function"]["function"].__name__
        return WRITTEN[read](self.generate_inner(schema["schema"]))

    def function_after_schema(self, schema: Any) -> Json:
        read = getattr(
            schema["function"]["function"], "__name__", ""
        )  # pydantic's own have none
        inner = self.generate_inner(schema["schema"])
        return WRITTEN[read](inner) if read in WRITTEN else inner

    def union_schema(self, schema: Any) -> Json:
        forms = super().union_schema(schema)
        kinds = [form.get("type") for form in forms.get("anyOf", ())]
        parameter = kinds == [
            "integer",
            "number",
            "string",
        ]  # and a truth value is a number
        return {"type": [*kinds, "boolean"]} if parameter else forms

    def encode_default(self, dft: Any) -> Any:
        return super().encode_default(
            dft.name if isinstance(dft, records.Mechanism) else dft
        )


# ------------------------------------------------------------------ the files

# Bounds of what a quantity becomes, which say nothing of how it is written; and names that only
# repeat the key.
DROPPED = frozenset({"ge", "gt", "le", "lt", "title"})


def json_schema(kind: str) -> str:
    """The schema of one of FILES, or of a campaign, as JSON."""
    if kind == "campaign":
        return _as_file(kind, _campaign())
    keys = tidied(TypeAdapter(FILES[kind]).json_schema(schema_generator=Generator))
    for record, of in ((kind, keys), *keys.get("$defs", {}).items()):
        for key, what in of.get("properties", {}).items():
            what["description"] = WORDS.get(f"{record}.{key}") or WORDS[key]
    return _as_file(kind, keys)


def _as_file(kind: str, keys: Json) -> str:
    title = f"tierbench: a {kind.replace('-', ' ')}"
    head = {"$schema": GenerateJsonSchema.schema_dialect, "title": title}
    return json.dumps({**head, **keys}, indent=2, ensure_ascii=False) + "\n"


def _campaign() -> Json:
    """What `tierbench compare FILE` reads: keys are the options of `compare`."""
    program: Any = typer.main.get_command(main.program)
    options = campaign_files.options(program.loaded("compare"))
    properties: Json = {}
    for key, option in sorted(options.items()):
        properties[key] = _written(option) | {"description": _sentence(option.help)}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _written(option: Any) -> Json:
    """What may be written for an option: bare words, and a list where it takes several."""
    annotation = option.type_descriptor.annotation
    if get_origin(annotation) is Literal:
        return {"enum": [*get_args(annotation)], "type": "string"}
    if annotation in (bool, int, float):
        return dict(TypeAdapter(annotation).json_schema())
    bare = [kind for kind in BARE if kind != {"type": "boolean"}]
    if option_values.takes_several(option):
        return any_of(*bare, {"items": any_of(*bare), "minItems": 1, **LIST})
    return any_of(*bare)


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}."


def tidied(schema: Any, named: bool = False) -> Any:
    """`named`: the mapping's keys are names that a person may write, not words of JSON Schema."""
    if isinstance(schema, list):
        return [tidied(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: tidied(value, key in ("properties", "$defs") and not named)
        for key, value in schema.items()
        if named
        or not (key in DROPPED or (key == "default" and value in (None, "", {}, [])))
    }
