"""A real model under a grammar: valid, the same with any drafter, and what is forced costs no draft."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from specdec_cli.grammar.json_schema import schema_to_gbnf
from specdec_cli.llama.model import LlamaModel
from specdec_cli.settings import SamplingSettings
from tests.support.json_validator import is_valid
from tests.support.real import answer, assert_same_or_tie, chat_tokens, session

pytestmark = pytest.mark.real
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "profession": {"enum": ["mathematician", "painter", "baker"]},
    },
    "required": ["name", "age", "profession"],
}
PROMPT = "Describe Ada Lovelace, 36, as JSON."


def test_json_of_a_real_model(real_models: Mapping[str, LlamaModel]) -> None:
    target = real_models["F16"]
    prompt = chat_tokens(target, PROMPT)
    grammar = schema_to_gbnf(json.dumps(SCHEMA))
    answers = {}
    for drafter, draft in (("none", None), ("ngram", None), ("model", real_models["Q4_0"])):
        made = session(target, drafter, draft, grammar=grammar)
        answers[drafter] = answer(made, target, prompt, 80)
        made.close()
    for generation in answers.values():
        assert generation.finish_reason == "stop"
        assert is_valid(json.loads(generation.answer), SCHEMA, SCHEMA)
        assert_same_or_tie(target, prompt, answers["none"].token_ids, generation.token_ids)
    forced = answers["ngram"].statistics.by_source
    assert sum(accepted for _, accepted in forced.values()) > 5
    assert answers["model"].statistics.rounds < answers["none"].statistics.rounds


@pytest.mark.parametrize("sampling", [{"temperature": 1.0}, {"temperature": 1.0, "top_k": 0}])
def test_the_same_seed_under_a_grammar(
    real_models: Mapping[str, LlamaModel], sampling: dict[str, float]
) -> None:
    target = real_models["Q4_1"]
    prompt = chat_tokens(target, PROMPT)
    grammar = 'root ::= "I " ("like" | "love" | "dislike") " " [a-z ]{3,30} "."'
    chosen = SamplingSettings(**sampling, seed=8)  # type: ignore[arg-type]
    texts = set()
    for drafter, draft in (("none", None), ("ngram", None), ("model", real_models["Q4_0"])):
        made = session(target, drafter, draft, sampling=chosen, grammar=grammar)
        texts.add(answer(made, target, prompt, 60).answer)
        made.close()
    assert len(texts) == 1
    assert texts.pop().startswith("I ")
