"""The engine between two answers: other drafters, other sampling, the same caches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specdec_cli.assemble import Engine, EngineRequest, assemble
from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.settings import ContextSettings, DraftSettings, GenerationSettings, SamplingSettings
from tests.support.toy import ToyBackend, ToyContext, table_logits

WORDS = table_logits(7, end_bias=-9.0)
PROMPT = [8, 5, 12, 12, 15]


def engine_for(
    tmp_path: Path, backend: ToyBackend, drafter: str = "model", sampling: SamplingSettings | None = None
) -> Engine:
    for name in ("target.gguf", "draft.gguf"):
        (tmp_path / name).touch()
    settings = ContextSettings(n_ctx=256)
    return assemble(
        backend,
        EngineRequest(
            target=tmp_path / "target.gguf",
            draft=tmp_path / "draft.gguf" if drafter == "model" else None,
            target_settings=settings,
            draft_settings=settings,
            drafting=DraftSettings(drafter=drafter, draft_max=4),
            sampling=sampling or SamplingSettings(),
        ),
    )


def say(engine: Engine, prompt: list[int], tokens: int = 12) -> list[int]:
    generation = engine.generate(GenerationSettings(max_tokens=tokens))
    generation.prefill(prompt)
    for _event in generation:
        engine.session.check()
    return generation.token_ids


def contexts(backend: ToyBackend) -> list[ToyContext]:
    return [context for model in backend.models for context in model.contexts]


def test_a_drafter_that_comes_back_finds_its_cache(tmp_path: Path) -> None:
    backend = ToyBackend(target_logits=WORDS)
    engine = engine_for(tmp_path, backend)
    target, draft = contexts(backend)
    text = [*PROMPT, *say(engine, PROMPT)]
    engine.use_drafter("none", "/spec off")
    assert (engine.speculation, engine.reason) == ("off", "/spec off")
    text += say(engine, text)
    draft.decoded.clear()
    target.decoded.clear()
    engine.use_drafter("model")
    assert (engine.speculation, engine.reason) == ("on", "model, match")
    say(engine, text, 4)
    assert len(draft.decoded) < 20  # what it missed and what it drafts, not the text from the start
    assert len(target.decoded) < 10
    engine.close()
    assert all(context.closed for context in contexts(backend))
    assert all(model.closed for model in backend.models)


@pytest.mark.parametrize("names", [("ngram", "model", "none"), ("none", "ngram", "model", "ngram")])
def test_whoever_drafts_the_text_is_the_same(tmp_path: Path, names: tuple[str, ...]) -> None:
    plain, switched = (engine_for(tmp_path, ToyBackend(target_logits=WORDS)) for _ in range(2))
    plain.use_drafter("none")
    first, second = list(PROMPT), list(PROMPT)
    for name in names:
        switched.use_drafter(name)
        first += say(plain, first)
        second += say(switched, second)
    assert first == second


def test_a_draft_model_that_is_not_loaded_cannot_be_used(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, ToyBackend(target_logits=WORDS), "none")
    with pytest.raises(SpecdecError, match="needs a draft model"):
        engine.use_drafter("model")
    assert engine.drafting.drafter == "none"
    engine.use_drafter("ngram")
    assert engine.speculation == "on"


def test_a_target_that_cannot_roll_back_refuses_later_too(tmp_path: Path) -> None:
    backend = ToyBackend(target_logits=WORDS, target_options={"rolls_back": False})
    engine = engine_for(tmp_path, backend, "none")
    text = [*PROMPT, *say(engine, PROMPT)]
    with pytest.raises(SpecdecError, match="cannot drop rejected tokens"):
        engine.use_drafter("ngram")
    assert engine.session.drafter.name == "none"
    assert say(engine, text)  # the caches were emptied by the probe, and filled again


def test_other_sampling_reaches_target_and_draft(tmp_path: Path) -> None:
    backend = ToyBackend(target_logits=WORDS)
    engine = engine_for(tmp_path, backend)
    greedy = say(engine, PROMPT)
    engine.use_sampling(SamplingSettings(temperature=1.5, seed=3))
    assert engine.reason == "model, reject"
    sampled = say(engine, PROMPT)
    assert sampled != greedy
    assert say(engine, PROMPT) == sampled
    engine.use_sampling(SamplingSettings())
    assert say(engine, PROMPT) == greedy
    with pytest.raises(UsageProblem, match="--temp"):
        engine.use_sampling(SamplingSettings(temperature=-1))
    assert engine.sampling == SamplingSettings()


def test_a_new_seed_keeps_every_cache(tmp_path: Path) -> None:
    backend = ToyBackend(target_logits=WORDS)
    sampling = SamplingSettings(temperature=1.5, seed=3)
    engine = engine_for(tmp_path, backend, sampling=sampling)
    target, draft = contexts(backend)
    prompt = PROMPT * 8
    first = say(engine, prompt)
    target.decoded.clear()
    draft.decoded.clear()
    engine.use_sampling(replace(sampling, seed=4))
    assert engine.sampling.seed == 4
    assert say(engine, prompt) != first
    assert draft.decoded[:20] != prompt[:20]
    engine.use_sampling(sampling)
    assert say(engine, prompt) == first


def test_another_rule_and_another_length(tmp_path: Path) -> None:
    engine = engine_for(
        tmp_path, ToyBackend(target_logits=WORDS), sampling=SamplingSettings(temperature=1.5, seed=3)
    )
    plain = engine_for(
        tmp_path, ToyBackend(target_logits=WORDS), "none", SamplingSettings(temperature=1.5, seed=3)
    )
    assert engine.reason == "model, reject"
    engine.use_draft_settings(accept="match", draft_max=2)
    assert engine.reason == "model, match"
    generation = engine.generate(GenerationSettings(max_tokens=20))
    generation.prefill(PROMPT)
    assert max(len(event.outcome.draft) for event in generation) == 2
    assert generation.token_ids == say(plain, PROMPT, 20)
    with pytest.raises(UsageProblem, match="1 to 4"):
        engine.use_draft_settings(draft_max=5)
