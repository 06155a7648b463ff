"""Whether a value satisfies a JSON schema, straight from the specification: for the keywords that specdec supports."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from typing import Any
from uuid import UUID


def is_valid(value: Any, schema: Any, root: Any) -> bool:
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].split("/")[1:]:
            target = target[step]
        return is_valid(value, target, root)
    types = schema.get("type")
    if types is not None and not any(
        _has_type(value, t) for t in ([types] if isinstance(types, str) else types)
    ):
        return False
    if "const" in schema and not _same(value, schema["const"]):
        return False
    if "enum" in schema and not any(_same(value, item) for item in schema["enum"]):
        return False
    if "anyOf" in schema and not any(is_valid(value, item, root) for item in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(is_valid(value, item, root) for item in schema["oneOf"]) != 1:
        return False
    if not all(is_valid(value, item, root) for item in schema.get("allOf", [])):
        return False
    if isinstance(value, str):
        return _is_valid_string(value, schema)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _is_valid_number(value, schema)
    if isinstance(value, list):
        return _is_valid_array(value, schema, root)
    return _is_valid_object(value, schema, root) if isinstance(value, dict) else True


def _has_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    kinds = {"number": (int, float), "string": str, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, kinds.get(kind, ()))


def _same(first: Any, second: Any) -> bool:
    return first == second and isinstance(first, bool) == isinstance(second, bool)


def _is_valid_string(value: str, schema: dict[str, Any]) -> bool:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        return False
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    readers = {"date": date.fromisoformat, "uuid": UUID, "date-time": datetime.fromisoformat}
    reader = readers.get(schema.get("format", ""))
    if reader is not None:
        try:
            reader(value)
        except ValueError:
            return False
    return True


def _is_valid_number(value: float, schema: dict[str, Any]) -> bool:
    return (
        value >= schema.get("minimum", value)
        and value <= schema.get("maximum", value)
        and value > schema.get("exclusiveMinimum", -math.inf)
        and value < schema.get("exclusiveMaximum", math.inf)
    )


def _is_valid_array(value: list[Any], schema: dict[str, Any], root: Any) -> bool:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return False
    first = schema.get("prefixItems", [])
    return all(is_valid(item, rule, root) for item, rule in zip(value, first, strict=False)) and all(
        is_valid(item, schema.get("items", True), root) for item in value[len(first) :]
    )


def _is_valid_object(value: dict[str, Any], schema: dict[str, Any], root: Any) -> bool:
    if not all(name in value for name in schema.get("required", [])):
        return False
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    return all(is_valid(item, properties.get(name, others), root) for name, item in value.items())
