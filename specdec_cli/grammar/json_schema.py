"""JSON Schema → GBNF: a grammar for the JSON texts that satisfy a schema.

Answers are written in one line, with one space after each comma and colon, and properties in the schema's order:
so most of an answer's frame is forced, and costs nothing to draft. What cannot be expressed is refused by name.

Understood are `type` (one or several), `properties`, `required`, `additionalProperties`, `items`, `prefixItems`,
`minItems`, `maxItems`, `minLength`, `maxLength`, `pattern`, `format` (date, time, date-time, uuid), `minimum`,
`maximum` and the exclusive ones, `enum`, `const`, `anyOf`, `oneOf` (of alternatives that exclude each other), `allOf`
of one, `$ref` within the document (recursion too). Annotations (`title`, `default`, …) are passed over. Properties
that are not declared are written only where none is.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

from specdec_cli.errors import UsageProblem
from specdec_cli.grammar import schema_values
from specdec_cli.grammar.check import ROOT, check_grammar
from specdec_cli.grammar.literals import either, json_text, quoted
from specdec_cli.grammar.rules import GrammarProblem
from specdec_cli.grammar.schema_terms import (
    COMBINING,
    Schema,
    are_disjoint,
    check_alone,
    check_keywords,
    has_type,
    problem,
    types_of,
)

_PRIMITIVES: dict[str, tuple[str, tuple[str, ...]]] = {
    "char": (schema_values.CHARACTER, ()),
    "string": ('"\\"" char* "\\""', ("char",)),
    "number": (schema_values.number({}, ""), ()),
    "value": (
        'any-object | any-array | string | number | "true" | "false" | "null"',
        ("any-object", "any-array", "string", "number"),
    ),
    "any-object": ('"{" (any-pair (", " any-pair)*)? "}"', ("any-pair",)),
    "any-pair": ('string ": " value', ("string", "value")),
    "any-array": ('"[" (value (", " value)*)? "]"', ("value",)),
}
"""Rules that need no schema, each with those it leads to."""
_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9]+")


def schema_to_gbnf(text: str) -> str:
    """The grammar of a schema. Raises `UsageProblem` for what is no schema, or holds what is not supported."""
    try:
        schema = json.loads(text)
        grammar = _Converter(schema).grammar()
    except json.JSONDecodeError as error:
        raise UsageProblem(
            f"JSON schema, line {error.lineno}, column {error.colno}: {error.msg[0].lower()}{error.msg[1:]}"
        ) from error
    except RecursionError:
        raise UsageProblem("JSON schema: it is nested too deeply") from None
    try:
        check_grammar(grammar)
    except GrammarProblem as error:
        raise UsageProblem(f"JSON schema: no grammar can be made of it: {error.reason}") from error
    return grammar


class _Converter:
    """Rules as they are found. Expressions may be used anywhere in a sequence."""

    def __init__(self, schema: object) -> None:
        self._schema = schema
        self._rules: dict[str, str] = {}
        self._by_body: dict[str, str] = {}
        self._references = {"#": ROOT}

    def grammar(self) -> str:
        rules = {ROOT: self._expression(self._schema, "")} | self._rules
        return "".join(f"{name} ::= {body}\n" for name, body in rules.items())

    def _expression(self, schema: object, path: str) -> str:
        if schema is True:
            return self._primitive("value")
        if schema is False:
            raise problem(path, "`false` admits nothing")
        known = check_keywords(schema, path)
        for keyword in COMBINING:
            if keyword in known:
                return self._combined(keyword, known, path)
        types = types_of(known, path)
        return either(self._of_type(kind, known, path) for kind in types or ("value",))

    def _combined(self, keyword: str, schema: Schema, path: str) -> str:
        value, where = schema[keyword], f"{path}/{keyword}"
        check_alone(schema, keyword, path, ("type",) if keyword in ("const", "enum") else ())
        if keyword == "$ref":
            return self._reference(value, path)
        if keyword == "const":
            return self._one_of([value], schema, path)
        if not isinstance(value, list) or not value:
            raise problem(path, f"`{keyword}` is a list of at least one")
        if keyword == "enum":
            return self._one_of(value, schema, path)
        if keyword == "allOf" and len(value) > 1:
            raise problem(path, "`allOf` of more than one is not supported", "write out what it comes to")
        if keyword == "oneOf":
            self._check_exclusive(value, path)
        return either(self._expression(item, f"{where}/{index}") for index, item in enumerate(value))

    def _check_exclusive(self, alternatives: list[Any], path: str) -> None:
        for second in range(len(alternatives)):
            for first in range(second):
                if not are_disjoint(alternatives[first], alternatives[second], self._resolve):
                    raise problem(
                        path,
                        f"`oneOf`: a value may satisfy both {first} and {second}, which a grammar cannot exclude",
                        "use anyOf",
                    )

    def _one_of(self, values: list[Any], schema: Schema, path: str) -> str:
        types = types_of(schema, path) if "type" in schema else None
        try:
            written = [
                quoted(json_text(value)) for value in values if types is None or has_type(value, types)
            ]
        except ValueError as error:
            raise problem(path, "a value that is no JSON (NaN or infinite)") from error
        if not written:
            raise problem(path, "no value has the type that `type` asks for")
        return either(written)

    def _reference(self, reference: object, path: str) -> str:
        if not isinstance(reference, str) or not re.fullmatch("#(/.*)?", reference):
            raise problem(
                path, f"`$ref` {reference}: only places within this schema are supported (`#/$defs/…`)"
            )
        if reference not in self._references:
            name = self._references[reference] = self._new_name(reference.rpartition("/")[2])
            self._rules[name] = self._expression(self._target(reference, path), reference[1:])
        return self._references[reference]

    def _target(self, reference: str, path: str) -> object:
        target: Any = self._schema
        for step in unquote(reference).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and key in target:
                target = target[key]
            elif isinstance(target, list) and key.isdecimal() and int(key) < len(target):
                target = target[int(key)]
            else:
                raise problem(path, f"`$ref` {reference}: there is nothing at that place")
        return target

    def _resolve(self, schema: object) -> object:
        """What a schema that only refers to another refers to."""
        for _ in range(100):
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                break
            schema = self._target(schema["$ref"], "")
        return schema

    def _of_type(self, kind: str, schema: Schema, path: str) -> str:
        if kind in _PRIMITIVES and schema_values.is_unbounded(kind, schema):
            return self._primitive(kind)
        if kind == "object":
            return self._object(schema, path)
        if kind == "array":
            return self._array(schema, path)
        if kind == "string":
            return self._string(schema, path)
        if kind == "integer":
            return self._add_rule("integer", schema_values.integer(schema, path))
        if kind == "number":
            return self._add_rule("number", schema_values.number(schema, path))
        if kind == "boolean":
            return '("true" | "false")'
        return '"null"'

    def _string(self, schema: Schema, path: str) -> str:
        contents = schema_values.string_contents(
            schema, path, lambda: self._primitive("char"), self._add_rule
        )
        return self._add_rule("string", f'"\\"" {contents} "\\""')

    def _array(self, schema: Schema, path: str) -> str:
        first, rest = schema.get("prefixItems", []), schema.get("items", True)
        least = schema_values.whole_number(schema, "minItems", path) or 0
        most = schema_values.whole_number(schema, "maxItems", path)
        schema_values.check_order(least, most, path, "minItems", "maxItems")
        if isinstance(rest, list):
            raise problem(path, "`items` as a list is not supported", "its name is prefixItems now")
        if not isinstance(first, list):
            raise problem(path, "`prefixItems` is a list")
        is_closed = rest is False or ("prefixItems" in schema and "items" not in schema)
        if is_closed and least <= len(first):
            most = len(first) if most is None else min(most, len(first))
        items = [
            self._expression(item, f"{path}/prefixItems/{place}") for place, item in enumerate(first[:most])
        ]
        left, needed = None if most is None else most - len(items), max(least - len(items), 0)
        written = ' ", " '.join(items)
        if left != 0:
            item = self._expression(rest, f"{path}/items")
            opening = "" if items else item
            least, most = (
                (needed, left) if items else (max(needed - 1, 0), None if left is None else left - 1)
            )
            more = schema_values.repetition(f'(", " {item})', least, most, path, "minItems", "maxItems")
            written = f"{written} {opening} {more}" if items or needed else f"({opening} {more})?"
        return self._add_rule("array", f'"[" {written} "]"')

    def _object(self, schema: Schema, path: str) -> str:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        additional = schema.get("additionalProperties", "properties" not in schema)
        if not isinstance(properties, dict):
            raise problem(path, "`properties` is an object")
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise problem(path, "`required` is a list of names")
        members = [(name, value, f"{path}/properties/{name}") for name, value in properties.items()]
        for name in dict.fromkeys(required):
            if name not in properties:
                others = schema.get("additionalProperties", True)
                members.append((name, others, f"{path}/additionalProperties"))
        if not members:
            return self._map(additional, path)
        pairs = [
            (f"{quoted(json_text(name) + ': ')} {self._expression(value, where)}", name in required)
            for name, value, where in members
        ]
        return self._add_rule("object", f'"{{" {self._members(pairs)} "}}"')

    def _members(self, pairs: list[tuple[str, bool]]) -> str:
        """Pairs with commas between those that are there. Each comes with whether it must be."""
        openings: list[str] = []
        rest = ""
        for place in range(len(pairs) - 1, -1, -1):
            pair, is_required = pairs[place]
            if is_required:
                openings = []
            openings.insert(0, f"{pair} {rest}".rstrip())
            if place > 0:
                comma = f'", " {pair}' if is_required else f'(", " {pair})?'
                rest = self._add_rule("rest", f"{comma} {rest}".rstrip())
        if any(is_required for _, is_required in pairs):
            return either(openings)
        return f"({' | '.join(openings)})?"

    def _map(self, additional: object, path: str) -> str:
        """An object with any names."""
        if additional is False:
            return self._add_rule("object", '"{}"')
        if additional is True:
            return self._primitive("any-object")
        value = self._expression(additional, f"{path}/additionalProperties")
        pair = self._add_rule("pair", f'{self._primitive("string")} ": " {value}')
        return self._add_rule("object", f'"{{" ({pair} (", " {pair})*)? "}}"')

    def _primitive(self, name: str) -> str:
        if name not in self._rules:
            self._rules[name], leads_to = _PRIMITIVES[name]
            for other in leads_to:
                self._primitive(other)
        return name

    def _add_rule(self, hint: str, body: str) -> str:
        """The rule with this body: the one that is there, or a new one."""
        if body not in self._by_body:
            self._by_body[body] = self._new_name(hint)
            self._rules[self._by_body[body]] = body
        return self._by_body[body]

    def _new_name(self, hint: str) -> str:
        stem = _NOT_IN_NAMES.sub("-", hint).strip("-") or "rule"
        name, number = stem, 1
        while name in self._rules or name in _PRIMITIVES or name == ROOT:
            number += 1
            name = f"{stem}-{number}"
        self._rules[name] = ""
        return name
