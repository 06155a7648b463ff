"""What is wrong with a schema, or cannot be used, is named with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specdec_cli.errors import UsageProblem
from specdec_cli.grammar.json_schema import schema_to_gbnf

UNSUPPORTED = (
    *("multipleOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies"),
    *("patternProperties", "propertyNames", "maxProperties", "unevaluatedProperties", "additionalItems"),
    *("contains", "minContains", "uniqueItems", "unevaluatedItems", "contentEncoding", "$dynamicRef"),
    *("nullable", "requierd"),
)

WRONG: dict[str, tuple[Any, str]] = {
    "not a schema": (3, "at its top: a schema is an object, true or false"),
    "false": (False, "`false` admits nothing"),
    "nested false": (
        {"properties": {"a": False}, "required": ["a"]},
        "at /properties/a: `false` admits nothing",
    ),
    "type": ({"properties": {"a": {"type": "int"}}}, "at /properties/a: there is no type 'int'"),
    "types": ({"type": []}, "`type` names no type"),
    "format": ({"items": {"format": "email"}}, "at /items: `format` email is not supported"),
    "pattern": ({"pattern": "^(?=a)"}, "look-around"),
    "pattern back": ({"pattern": "(a)\\1"}, "`\\1` is not supported"),
    "pattern word end": ({"pattern": "a\\b"}, "`\\b` is not supported"),
    "pattern open": ({"pattern": "^(a"}, "`(` without its end"),
    "pattern close": ({"pattern": "a)"}, "`)` without its beginning"),
    "pattern dollar": ({"pattern": "a$b"}, "`$` in the middle"),
    "pattern caret": ({"pattern": "a^b"}, "`^` in the middle"),
    "pattern class": ({"pattern": "[a"}, "its end comes too early"),
    "pattern nothing": ({"pattern": "[]"}, "`[…]` that matches nothing"),
    "pattern range": ({"pattern": "[z-a]"}, "a range in `[…]` that is none"),
    "pattern quantifier": ({"pattern": "*a"}, "`*` with nothing before it"),
    "pattern braces": ({"pattern": "a{x}"}, "`{` that is not {m}"),
    "pattern twice": ({"pattern": "a+*"}, "`+*`"),
    "pattern and length": ({"pattern": "a", "maxLength": 2}, "`maxLength` beside `pattern`"),
    "pattern is": ({"pattern": 1}, "`pattern` is a string"),
    "beside $ref": ({"$ref": "#/$defs/a", "type": "null", "$defs": {"a": {}}}, "`type` beside `$ref`"),
    "beside anyOf": ({"anyOf": [{}], "properties": {}}, "`properties` beside `anyOf`"),
    "beside enum": ({"enum": ["a"], "maxLength": 3}, "`maxLength` beside `enum`"),
    "allOf": ({"allOf": [{}, {}]}, "`allOf` of more than one"),
    "oneOf": ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "a value may satisfy both 0 and 1"),
    "oneOf objects": (
        {"oneOf": [{"type": "object", "properties": {"a": {"const": n}}} for n in (1, 2)]},
        "a value may satisfy both 0 and 1",
    ),
    "empty enum": ({"enum": []}, "`enum` is a list of at least one"),
    "enum of another type": ({"enum": [1], "type": "string"}, "no value has the type"),
    "remote": ({"$ref": "https://example.com/s"}, "only places within this schema"),
    "nowhere": ({"$ref": "#/$defs/x"}, "`$ref` #/$defs/x: there is nothing at that place"),
    "itself": ({"$ref": "#"}, "left recursion"),
    "needs itself": (
        {
            "$defs": {"a": {"properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}},
            "$ref": "#/$defs/a",
        },
        "no text can ever satisfy",
    ),
    "lengths": (
        {"type": "string", "minLength": 3, "maxLength": 2},
        "`minLength` 3 is more than `maxLength` 2",
    ),
    "long": ({"type": "string", "maxLength": 5000}, "`maxLength` 5000 is not supported: at most 2000"),
    "items": ({"minItems": 3, "maxItems": 1, "items": {}}, "`minItems` 3 is more than `maxItems` 1"),
    "items list": ({"items": [{}]}, "its name is prefixItems now"),
    "negative": ({"minItems": -1, "items": {}}, "`minItems` is a whole number from 0 on"),
    "half": ({"type": "string", "maxLength": 1.5}, "`maxLength` is a whole number"),
    "no integer": ({"type": "integer", "minimum": 3, "exclusiveMaximum": 3}, "no number lies between"),
    "no number": ({"type": "number", "minimum": 1, "maximum": 0}, "no number lies between"),
    "draft 4 bound": (
        {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        "`exclusiveMinimum` as true or false",
    ),
    "bound": ({"type": "number", "minimum": 0.5}, "a bound of 0.5 is not supported"),
    "no bound": ({"type": "integer", "minimum": "0"}, "`minimum` is a number"),
    "properties": ({"properties": []}, "`properties` is an object"),
    "required": ({"required": "a"}, "`required` is a list of names"),
    "required, forbidden": ({"required": ["a"], "additionalProperties": False}, "`false` admits nothing"),
    "place": (
        {"properties": {"a": {"items": {"multipleOf": 2}}}},
        "at /properties/a/items: the keyword `multipleOf`",
    ),
}


@pytest.mark.parametrize(("schema", "message"), WRONG.values(), ids=WRONG)
def test_a_problem_is_one_line(schema: Any, message: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        schema_to_gbnf(json.dumps(schema))
    assert f"{caught.value.message} {caught.value.hint}".find(message) >= 0, caught.value.message
    assert caught.value.message.startswith("JSON schema")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("keyword", UNSUPPORTED)
def test_an_unsupported_keyword_is_named(keyword: str) -> None:
    with pytest.raises(UsageProblem, match=f"the keyword `{keyword}` is not supported".replace("$", "\\$")):
        schema_to_gbnf(json.dumps({"type": "object", keyword: True}))


def test_annotations_say_nothing() -> None:
    bare = {"type": "string", "maxLength": 3}
    described = bare | {
        "title": "T",
        "description": "D",
        "default": "x",
        "examples": [1],
        "x-order": 2,
        "$id": "i",
    }
    assert schema_to_gbnf(json.dumps(described)) == schema_to_gbnf(json.dumps(bare))
    assert schema_to_gbnf('{"type": "array", "uniqueItems": false}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "string"', "line 1, column 18"),
        ('{\n  type: "string"}', "line 2, column 3"),
        ("", "line 1, column 1: expecting value"),
        ("[" * 100_000, "nested too deeply"),
        ('{"const": NaN}', "no JSON (NaN or infinite)"),
        ('{"a":' * 120 + "1" + "}" * 120, "the keyword `a`"),
    ],
)
def test_text_that_is_no_json(text: str, message: str) -> None:
    with pytest.raises(UsageProblem, match="JSON schema") as caught:
        schema_to_gbnf(text)
    assert message in caught.value.message
