"""How quantities stand in YAML: what a person may write, and what becomes of it.

Each type is a base unit with its parser. The second argument of a parser is the form in which the
value is written, for the JSON Schema that editors read (`json_schema`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from orchestrator import units

Size = Annotated[str, Field(pattern=units.SIZE)] | Annotated[float, Field(gt=0)]
Rate = Annotated[str, Field(pattern=units.RATE)]
Time = Annotated[str, Field(pattern=units.TIME)]
Words = str | int | float | bool  # what YAML makes of a bare word

AsBytes = BeforeValidator(units.parse_bytes, json_schema_input_type=Size)
AsBytesPerS = BeforeValidator(units.parse_bytes_per_s, json_schema_input_type=Rate)
AsSeconds = BeforeValidator(units.parse_seconds, json_schema_input_type=Time)
AsText = BeforeValidator(units.as_text, json_schema_input_type=Words)
