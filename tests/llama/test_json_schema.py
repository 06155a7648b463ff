"""The grammar of a schema admits only JSON that satisfies it, and the texts that people would expect."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from specdec_cli.grammar.json_schema import schema_to_gbnf
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.llama.model import LlamaModel
from specdec_cli.protocols import Constraint
from specdec_cli.settings import ContextSettings
from tests.support.grammars import accepts, tokens_for
from tests.support.json_validator import is_valid
from tests.support.tiny_models import write_tiny_model

TREE = {
    "$defs": {
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "null"}}}
    },
    "$ref": "#/$defs/node",
}
SHAPES = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "r": {"type": "integer"}},
            "required": ["kind"],
        },
        {"type": "object", "properties": {"kind": {"enum": ["dot"]}}, "required": ["kind"]},
    ]
}
CASES: dict[str, tuple[Any, list[str], list[str]]] = {
    "anything": ({}, ['{"a": [1, 2.5e3, "x"]}', "null", "-0.5"], ["{'a': 1}", "01", "+1", "[1,]", '"\n"']),
    "true": (True, ["[]", "{}"], [""]),
    "string": ({"type": "string"}, ['"é\\n\\u00e9"', '""'], ['"\\x"', '"\\ud800"', '"a', '"\t"']),
    "length": ({"type": "string", "minLength": 2, "maxLength": 3}, ['"ab"', '"\\n한😀"'], ['"a"', '"abcd"']),
    "length 0": ({"type": "string", "maxLength": 0}, ['""'], ['"a"']),
    "integer": ({"type": "integer"}, ["0", "-17", "123456"], ["1.0", "007", "1e3", "--1", "-0"]),
    "range": (
        {"type": "integer", "minimum": -15, "maximum": 120},
        ["-15", "-9", "0", "99", "120"],
        ["-16", "121", "1000"],
    ),
    "range, half open": (
        {"type": "integer", "exclusiveMinimum": 9.5},
        ["10", "11", "999"],
        ["9", "-10", "0"],
    ),
    "range, negative": ({"type": "integer", "maximum": -3}, ["-3", "-40"], ["-2", "0", "3"]),
    "number": ({"type": "number"}, ["1", "-2.50", "1e-7"], [".5", "1.", "0x1", "NaN"]),
    "share": (
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        ["0", "0.5", "0.999999"],
        ["1", "-0.1", "1.0"],
    ),
    "above": ({"type": "number", "exclusiveMinimum": 2}, ["2.01", "3", "77.5"], ["2", "2.0", "-3"]),
    "below": ({"type": "number", "maximum": -1}, ["-1", "-1.5", "-20"], ["-0.5", "1", "0"]),
    "enum": (
        {"enum": ['a"b\\c\n', 1, None, {"x": [1]}, "é😀"]},
        ['"a\\"b\\\\c\\n"', "1", "null", '{"x": [1]}', '"é😀"'],
        ["2"],
    ),
    "const": ({"const": [True, "\t"]}, ['[true, "\\t"]'], ['[true,"\\t"]']),
    "enum of a type": ({"enum": ["a", 1], "type": "string"}, ['"a"'], ["1"]),
    "several types": (
        {"type": ["boolean", "null", "string"], "maxLength": 1},
        ["true", "null", '"x"'],
        ["1", '"xy"'],
    ),
    "any of": (
        {"anyOf": [{"type": "integer"}, {"type": "array", "maxItems": 0}]},
        ["3", "[]"],
        ["[1]", '"3"'],
    ),
    "one of": (SHAPES, ['{"kind": "circle", "r": 2}', '{"kind": "dot"}'], ['{"kind": "dot", "r": 2}', "{}"]),
    "all of one": ({"allOf": [{"type": "null"}]}, ["null"], ["0"]),
    "array": (
        {"type": "array", "items": {"type": "boolean"}},
        ["[]", "[true, false]"],
        ["[1]", "[true,false]"],
    ),
    "array of 2 or 3": (
        {"items": {"const": 1}, "minItems": 2, "maxItems": 3},
        ["[1, 1]", "[1, 1, 1]"],
        ["[1]", "[1, 1, 1, 1]"],
    ),
    "tuple": (
        {"prefixItems": [{"type": "null"}, {"const": 2}]},
        ["[null, 2]"],
        ["[2, null]", "[null, 2, 3]"],
    ),
    "tuple and more": (
        {"prefixItems": [{"const": 1}], "items": {"const": 2}, "maxItems": 3},
        ["[1]", "[1, 2, 2]"],
        ["[]", "[1, 2, 2, 2]"],
    ),
    "object": (
        {"type": "object", "properties": {"a": {"const": 1}, "b c": {"const": 2}}, "required": ["a"]},
        ['{"a": 1}', '{"a": 1, "b c": 2}'],
        ["{}", '{"b c": 2}', '{"b c": 2, "a": 1}', '{"a": 1, }'],
    ),
    "optional first": (
        {"properties": {k: {"const": 0} for k in "abc"}, "required": ["b"]},
        ['{"b": 0}', '{"a": 0, "b": 0}', '{"b": 0, "c": 0}', '{"a": 0, "b": 0, "c": 0}'],
        ["{}", '{"a": 0}', '{"a": 0, "c": 0}', '{, "b": 0}'],
    ),
    "all optional": (
        {"properties": {k: {"const": 0} for k in "ab"}},
        ["{}", '{"a": 0}', '{"b": 0}', '{"a": 0, "b": 0}'],
        ['{"b": 0, "a": 0}', "{, }"],
    ),
    "required, undeclared": (
        {"required": ["x"], "additionalProperties": {"const": 1}},
        ['{"x": 1}'],
        ["{}", '{"x": 2}'],
    ),
    "map": (
        {"type": "object", "additionalProperties": {"type": "null"}},
        ["{}", '{"q": null, "r": null}'],
        ['{"q": 1}', '{"q": null,}'],
    ),
    "no members": ({"type": "object", "additionalProperties": False}, ["{}"], ['{"a": 1}']),
    "free object": ({"type": "object"}, ["{}", '{"a": {"b": []}}'], ["[]"]),
    "recursion": (TREE, ["{}", '{"next": {"next": {}, "n": null}}'], ['{"n": 1}', '{"next": null}']),
    "root reference": ({"items": {"$ref": "#"}}, ["[]", "[[], [[]]]"], ["[1]"]),
    "date": (
        {"type": "string", "format": "date"},
        ['"2024-02-28"', '"1999-12-31"'],
        ['"2023-02-30"', '"2023-04-31"', '"2023-13-01"', '"2023-1-1"'],
    ),
    "date-time": (
        {"format": "date-time"},
        ['"2024-06-30T23:59:59Z"', '"2024-01-01T00:00:00.25+02:00"'],
        ['"2024-06-30"', '"2024-06-30T25:00:00Z"'],
    ),
    "uuid": ({"format": "uuid"}, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123e4567"']),
    "pattern": (
        {"pattern": "^[A-Z]{2,3}-\\d+$"},
        ['"AB-1"', '"ABC-123"'],
        ['"A-1"', '"AB-"', '"xAB-1"', '"AB-1x"'],
    ),
    "pattern within": ({"type": "string", "pattern": "ab?c"}, ['"xxacyy"', '"abc"'], ['"abbc"', '""']),
    "pattern, quotes": ({"pattern": '^["\\\\\\n]+[^"]$'}, ['"\\"\\\\\\nx"'], ['"\\"\\""', '"x"']),
    "pattern, groups": (
        {"pattern": "^(?:a|bc)*?(d|)\\.[^a-y]$"},
        ['"abcad.z"', '".é"'],
        ['"ad.y"', '"b.z"', '"d-z"'],
    ),
    "pattern, either end": ({"pattern": "^a|b$"}, ['"axx"', '"xxb"'], ['"xax"', '"bx"']),
    "pattern, classes": (
        {"pattern": "^\\w\\s\\S\\x41.\\u00e9$"},
        ['"a !A?é"', '"_\\t한A😀é"'],
        ['"é !A?é"', '"a  A?é"'],
    ),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaModel]:
    loaded = LlamaBackend().load(
        write_tiny_model(tmp_path_factory.mktemp("schema") / "tiny.gguf"), ContextSettings()
    )
    yield loaded
    loaded.close()


@pytest.mark.parametrize("name", CASES)
def test_what_a_schema_admits(model: LlamaModel, name: str) -> None:
    schema, valid, invalid = CASES[name]
    constraint = model.new_constraint(schema_to_gbnf(json.dumps(schema)))
    for text, expected in [*((text, True) for text in valid), *((text, False) for text in invalid)]:
        assert accepts(constraint, tokens_for(text.encode(), model.text)) == expected, text
    for seed in range(8):
        text = random_text(constraint, model, random.Random(seed))
        assert is_valid(json.loads(text), schema, schema), text


def random_text(constraint: Constraint, model: LlamaModel, choices: random.Random) -> str:
    """Any allowed token, again and again; preferring those that lead out after a while."""
    state, text = constraint.fork(), b""
    everything = np.arange(model.text.n_vocab)
    leads_out = [
        model.text.tokenize(letter, add_special=False, parse_special=False)[0] for letter in '"]}10abcn'
    ]
    while not state.ended and not (state.complete and len(text) > 60):
        assert len(text) < 2000
        possible = everything[state.allowed(everything)]
        possible = np.array([token for token in possible if not model.text.is_end_of_generation(int(token))])
        if len(text) > 40 and choices.random() < 0.7:
            possible = np.array([token for token in leads_out if token in possible] or possible)
        token = int(choices.choice(list(possible)))
        state.accept(token)
        text += model.text.piece(token)
    return text.decode()


def test_a_reference_may_be_escaped_and_lead_into_lists(model: LlamaModel) -> None:
    schema = {
        "$defs": {"a/b~": {"anyOf": [{"const": 1}, {"const": 2}]}, "string": {"const": "s"}},
        "prefixItems": [
            {"$ref": "#/$defs/a~1b~0"},
            {"$ref": "#/$defs/a~1b~0/anyOf/1"},
            {"$ref": "#/$defs/string"},
            {"type": "string"},
        ],
    }
    constraint = model.new_constraint(schema_to_gbnf(json.dumps(schema)))
    for text, expected in (
        ('[1, 2, "s", "t"]', True),
        ('[2, 1, "s", "t"]', False),
        ('[1, 2, "t", "t"]', False),
    ):
        assert accepts(constraint, tokens_for(text.encode(), model.text)) == expected
