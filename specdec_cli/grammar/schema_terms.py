"""What JSON Schema keywords are understood, and what can be told of a schema without converting it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from specdec_cli.errors import UsageProblem

Schema = dict[str, Any]

ANNOTATIONS = frozenset(
    (
        *("title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"),
        *("discriminator", "$schema", "$id", "$comment", "$anchor", "$defs", "definitions"),
    )
)
"""Keywords that say nothing about which values are valid."""

KEYWORDS_OF_TYPE: dict[str, frozenset[str]] = {
    "object": frozenset(("properties", "required", "additionalProperties")),
    "array": frozenset(("items", "prefixItems", "minItems", "maxItems")),
    "string": frozenset(("minLength", "maxLength", "pattern", "format")),
    "integer": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    "number": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    "boolean": frozenset(),
    "null": frozenset(),
}
COMBINING = ("$ref", "const", "enum", "anyOf", "oneOf", "allOf")
"""Keywords that decide alone, the type of `const` and `enum` aside."""
KNOWN = ANNOTATIONS | frozenset(COMBINING) | {"type"} | frozenset().union(*KEYWORDS_OF_TYPE.values())
_WITHOUT_EFFECT = (("uniqueItems", False), ("minProperties", 0), ("nullable", False))
"""Keywords that ask for nothing with this value."""


def problem(path: str, message: str, hint: str | None = None) -> UsageProblem:
    """The error that says where in a schema something is wrong."""
    return UsageProblem(f"JSON schema at {path or 'its top'}: {message}", hint=hint)


def check_keywords(schema: object, path: str) -> Schema:
    """The schema, all of whose own keywords are known. Raises `UsageProblem` naming the first that is not."""
    if not isinstance(schema, dict):
        raise problem(path, "a schema is an object, true or false")
    for keyword, value in schema.items():
        harmless = keyword.startswith("x-") or (keyword, value) in _WITHOUT_EFFECT
        if keyword not in KNOWN and not harmless:
            raise problem(
                path, f"the keyword `{keyword}` is not supported", "leave it out, and check it afterwards"
            )
    return schema


def check_alone(schema: Schema, keyword: str, path: str, beside: Iterable[str] = ()) -> None:
    """Raise `UsageProblem` if another keyword would have to hold together with this one."""
    for other in schema:
        if other in KNOWN and other not in ANNOTATIONS and other != keyword and other not in beside:
            raise problem(path, f"`{other}` beside `{keyword}` is not supported")


def types_of(schema: Schema, path: str) -> list[str]:
    """The types that a schema names, or that its keywords are about; none when it does not tell."""
    named = schema.get("type")
    if named is None:
        return [
            kind
            for kind, keywords in KEYWORDS_OF_TYPE.items()
            if kind != "integer" and not keywords.isdisjoint(schema)
        ]
    types = named if isinstance(named, list) else [named]
    for kind in types:
        if not isinstance(kind, str) or kind not in KEYWORDS_OF_TYPE:
            raise problem(path, f"there is no type {kind!r}", "one of " + ", ".join(KEYWORDS_OF_TYPE))
    if not types:
        raise problem(path, "`type` names no type")
    return types


def type_of_value(value: object) -> str:
    """The JSON type of a value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    kinds = ((float, "number"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def has_type(value: object, types: Iterable[str]) -> bool:
    """Whether a value is of one of the types."""
    kind = type_of_value(value)
    return kind in types or (kind == "integer" and "number" in types)


def are_disjoint(first: object, second: object, resolve: Callable[[object], object]) -> bool:
    """Whether surely no value satisfies both schemas: their types, fixed values, or a fixed property differ."""
    first, second = resolve(first), resolve(second)
    if not isinstance(first, dict) or not isinstance(second, dict):
        return first is False or second is False
    values = _fixed_values(first), _fixed_values(second)
    if values[0] is not None and values[1] is not None:
        return not any(_same(one, other) for one in values[0] for other in values[1])
    types = _possible_types(first), _possible_types(second)
    if types[0] and types[1] and not types[0] & types[1]:
        return True
    if types != ({"object"}, {"object"}):
        return False
    shared = set(first.get("required", ())) & set(second.get("required", ()))
    properties = first.get("properties", {}), second.get("properties", {})
    return any(
        _fixed_values(resolve(one)) is not None
        and _fixed_values(resolve(other)) is not None
        and are_disjoint(one, other, resolve)
        for one, other in ((properties[0].get(name), properties[1].get(name)) for name in shared)
    )


def _fixed_values(schema: object) -> list[Any] | None:
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _possible_types(schema: Schema) -> set[str]:
    """Its types, `integer` counted as `number`; empty when it may be of any."""
    values = _fixed_values(schema)
    types = {type_of_value(value) for value in values} if values is not None else set(types_of(schema, ""))
    return {"number" if kind == "integer" else kind for kind in types}


def _same(first: object, second: object) -> bool:
    return type_of_value(first) == type_of_value(second) and first == second
