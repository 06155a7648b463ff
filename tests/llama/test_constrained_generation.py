"""Random weights under a grammar: whatever the model would say, the answer is valid, and the same for all drafters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specdec_cli.engine.generation import Generation
from specdec_cli.grammar.json_schema import schema_to_gbnf
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.llama.model import LlamaModel
from specdec_cli.settings import ContextSettings, SamplingSettings
from tests.support.cli import run_cli
from tests.support.json_validator import is_valid
from tests.support.real import answer, session
from tests.support.tiny_models import spm_vocabulary, write_tiny_model

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 4},
        "größe": {"type": "integer", "minimum": -5, "maximum": 250},
        "kind": {"enum": ["the inner", "then", None]},
        "tags": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
    },
    "required": ["name", "größe", "kind"],
}
GRAMMAR = schema_to_gbnf(json.dumps(SCHEMA))
PROMPT = [5, 6, 7, 8]
SAMPLINGS = {
    "greedy": SamplingSettings(),
    "usual": SamplingSettings(temperature=0.8),
    "hot": SamplingSettings(temperature=3.0, top_k=0, top_p=1.0, min_p=0.0),
    "nucleus": SamplingSettings(temperature=1.5, top_k=0, top_p=0.9, min_p=0.02),
    "penalties": SamplingSettings(temperature=0.8, repeat_penalty=1.5, frequency_penalty=0.5),
}
MOST_TOKENS = 200


@pytest.fixture(scope="module", params=["bpe", "spm"])
def models(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[LlamaModel]]:
    folder = tmp_path_factory.mktemp("constrained")
    vocabulary = spm_vocabulary(add_bos_token=False) if request.param == "spm" else None
    paths = [write_tiny_model(folder / f"{seed}.gguf", vocabulary=vocabulary, seed=seed) for seed in (0, 1)]
    loaded = [LlamaBackend().load(path, ContextSettings()) for path in paths]
    yield loaded
    for model in loaded:
        model.close()


def generate(
    models: list[LlamaModel], drafter: str, sampling: SamplingSettings, rule: Any = "match"
) -> Generation:
    target, draft = models
    own = {"same": target, "other": draft}.get(drafter)
    made = session(
        target,
        "model" if own is not None else drafter,
        own,
        sampling=sampling,
        rule=rule,
        context=ContextSettings(n_ctx=512, threads=1),
        grammar=GRAMMAR,
    )
    try:
        generation = answer(made, target, PROMPT, MOST_TOKENS)
        assert not generation.unfinished
        return generation
    finally:
        made.close()


@pytest.mark.parametrize("kind", SAMPLINGS)
def test_every_drafter_gives_the_same_valid_json(models: list[LlamaModel], kind: str) -> None:
    sampling = SAMPLINGS[kind]
    plain = generate(models, "none", sampling)
    assert plain.finish_reason == "stop"
    assert is_valid(json.loads(plain.answer), SCHEMA, SCHEMA), plain.answer
    for drafter in ("ngram", "same", "other"):
        drafted = generate(models, drafter, sampling)
        assert drafted.token_ids == plain.token_ids
        forced = drafted.statistics.by_source.get("grammar", (0, 0))
        assert forced[0] == forced[1]


@pytest.mark.parametrize("drafter", ["ngram", "same", "other"])
def test_reject_gives_valid_json(models: list[LlamaModel], drafter: str) -> None:
    for seed in range(3):
        generation = generate(models, drafter, SamplingSettings(temperature=1.5, seed=seed), "reject")
        assert is_valid(json.loads(generation.answer), SCHEMA, SCHEMA), generation.answer


def test_much_of_the_frame_is_drafted_for_nothing(models: list[LlamaModel]) -> None:
    statistics = generate(models, "ngram", SAMPLINGS["greedy"]).statistics
    assert statistics.by_source["grammar"][1] + statistics.by_source["grammar-text"][1] > 20
    assert statistics.draft_seconds == 0


def test_the_command_line_with_a_policy(tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "target.gguf", seed=0)
    draft = write_tiny_model(tmp_path / "draft.gguf", seed=0, metadata={"general.name": "draft"})
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    common = ["--json-schema", tmp_path / "schema.json", "--temp", "1", "--seed", "3", "--json"]
    results = [
        run_cli("run", "--target", target, *models, *common, "hi")
        for models in (["--drafter", "none"], ["--draft", draft, "--accept", "match"], ["--drafter", "ngram"])
    ]
    texts = {result.document["text"] for result in results}
    assert len(texts) == 1
    assert is_valid(json.loads(texts.pop()), SCHEMA, SCHEMA)
    assert results[1].document["speculation"]["drafter"] == "auto"
