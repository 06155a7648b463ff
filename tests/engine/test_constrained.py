"""Answers under a grammar on a toy model: always satisfied, lossless for every drafter, nothing forbidden decoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from specdec_cli.draft.fallback import FallbackDrafter
from specdec_cli.draft.forced import ForcedDrafter
from specdec_cli.draft.model import ModelDrafter
from specdec_cli.draft.ngram import NgramDrafter
from specdec_cli.draft.plain import PlainDrafter
from specdec_cli.draft.values import Drafter
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.session import Session
from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import Logits
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import GenerationSettings, SamplingSettings
from tests.support.text_constraint import OneOfTexts
from tests.support.toy import END, N_VOCAB, PIECES, OracleDrafter, ToyContext, ToyText, noisy, table_logits

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
LOGITS = table_logits(7, end_bias=-9.0)
TEXTS = ("the cat sits", "the cat sleeps", "the dog", "the dog barks loudly", "stop", "a STOP sign")
HOT = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}


@dataclass
class WatchedContext(ToyContext):
    """Refuses to decode what no answer can contain."""

    prompt: Sequence[int] = field(default_factory=list)
    texts: tuple[bytes, ...] = ()

    def decode(self, tokens: Sequence[int], rows: int) -> Logits:
        answer = [*self.tokens, *tokens][len(self.prompt) :]
        written = b"".join(PIECES[token] for token in answer)
        assert not answer or any(text.startswith(written) for text in self.texts), written
        return super().decode(tokens, rows)


def model_drafter(sampling: SamplingSettings, rule: str, logits: Callable[..., np.ndarray]) -> ModelDrafter:
    return ModelDrafter(
        ToyContext(logits, max_rows=1),
        sampler=Sampler(sampling, N_VOCAB),
        random=RandomSource(sampling.seed),
        rule=rule,  # type: ignore[arg-type]
        target_n_vocab=N_VOCAB,
    )


def drafter_called(name: str, sampling: SamplingSettings, rule: str) -> Drafter:
    if name == "none":
        return PlainDrafter()
    if name == "ngram":
        return NgramDrafter()
    if name == "forced":
        return ForcedDrafter(ToyText())
    model = model_drafter(sampling, rule, noisy(LOGITS) if name != "other model" else table_logits(5))
    return FallbackDrafter((ForcedDrafter(ToyText()), model)) if name == "forced, then model" else model


DRAFTERS = ("ngram", "model", "other model", "forced", "forced, then model")


def generate(
    drafter: Drafter,
    sampling: SamplingSettings,
    *,
    rule: str = "match",
    texts: Sequence[str] = TEXTS,
    max_tokens: int = 60,
    stop: tuple[str, ...] = (),
    draft_max: int = 4,
) -> Generation:
    data = tuple(text.encode() for text in texts)
    session = Session(
        WatchedContext(LOGITS, prompt=PROMPT, texts=data),
        drafter,
        Sampler(sampling, N_VOCAB),
        RandomSource(sampling.seed),
        rule,  # type: ignore[arg-type]
        grammar=OneOfTexts(data, ToyText()),
    )
    generation = Generation(session, ToyText(), GenerationSettings(max_tokens, stop), draft_max)
    generation.prefill(PROMPT)
    for _event in generation:
        session.check()
    return generation


@pytest.mark.parametrize("temperature", [0.0, 0.8, 3.0])
@pytest.mark.parametrize("name", DRAFTERS)
def test_match_under_a_grammar_is_plain_decoding_under_it(name: str, temperature: float) -> None:
    answers = set()
    for seed in range(12):
        sampling = SamplingSettings(temperature=temperature, seed=seed, **HOT)
        plain = generate(PlainDrafter(), sampling)
        drafted = generate(drafter_called(name, sampling, "match"), sampling)
        assert drafted.token_ids == plain.token_ids
        assert drafted.answer in TEXTS
        assert drafted.finish_reason == plain.finish_reason == "stop"
        assert not drafted.unfinished
        answers.add(drafted.answer)
    assert len(answers) > (2 if temperature > 1 else 0)


@pytest.mark.parametrize("name", DRAFTERS)
def test_reject_under_a_grammar_satisfies_it(name: str) -> None:
    for seed in range(12):
        sampling = SamplingSettings(temperature=1.5, seed=seed, **HOT)
        generation = generate(drafter_called(name, sampling, "reject"), sampling, rule="reject")
        assert generation.answer in TEXTS
        assert generation.finish_reason == "stop"


def test_a_draft_is_cut_before_the_target_pays_for_it() -> None:
    # "the cat sit" may be drafted; "q" is in no answer. What would be decoded is watched.
    wrong = [*ToyText().tokenize("the cat q", add_special=False, parse_special=False), 5, 5]
    sampling = SamplingSettings()
    generation = generate(OracleDrafter(wrong), sampling, texts=["the cat sits"], draft_max=11)
    assert generation.answer == "the cat sits"
    assert (generation.statistics.drafted, generation.statistics.accepted) == (8, 8)


def test_nothing_follows_a_drafted_end() -> None:
    text = ToyText().tokenize("the dog", add_special=False, parse_special=False)
    generation = generate(
        OracleDrafter([*text, END, 1, 2]), SamplingSettings(), texts=["the dog"], draft_max=12
    )
    assert generation.answer == "the dog"
    assert generation.token_ids == text
    assert generation.finish_reason == "stop"
    # It is over with the last letter: no decode is spent on the end.
    assert generation.statistics.rounds == 1


def test_what_is_forced_costs_no_round_and_is_always_accepted() -> None:
    sampling = SamplingSettings(temperature=2.0, seed=3, **HOT)
    generation = generate(ForcedDrafter(ToyText()), sampling, texts=["yes it is so"], draft_max=8)
    statistics = generation.statistics
    assert generation.answer == "yes it is so"
    assert statistics.by_source == {"grammar": (statistics.accepted, statistics.drafted)}
    assert statistics.drafted == statistics.accepted == 11
    assert statistics.rounds == 2


def test_an_answer_that_breaks_off_says_so() -> None:
    sampling = SamplingSettings()
    cut = generate(NgramDrafter(), sampling, texts=["the cat sits"], max_tokens=5)
    assert (cut.answer, cut.finish_reason, cut.unfinished) == ("the c", "length", True)
    exact = generate(NgramDrafter(), sampling, texts=["the cat sits"], max_tokens=12)
    assert (exact.answer, exact.finish_reason, exact.unfinished) == ("the cat sits", "stop", False)
    stopped = generate(NgramDrafter(), sampling, texts=["the cat sits"], stop=("cat",))
    assert (stopped.answer, stopped.finish_reason, stopped.unfinished) == ("the ", "stop", True)
    enough = generate(NgramDrafter(), sampling, texts=["the", "the dog"], max_tokens=3)
    assert (enough.finish_reason, enough.unfinished) == ("length", False)


def test_each_answer_begins_the_grammar_anew() -> None:
    sampling = SamplingSettings()
    data = (b"the dog",)
    session = Session(
        ToyContext(LOGITS),
        ForcedDrafter(ToyText()),
        Sampler(sampling, N_VOCAB),
        RandomSource(0),
        "match",
        grammar=OneOfTexts(data, ToyText()),
    )
    for prompt in (PROMPT, [*PROMPT, 7], PROMPT[:3]):
        generation = Generation(session, ToyText(), GenerationSettings(20), 4)
        generation.prefill(prompt)
        assert [event.pieces for event in generation]
        assert generation.answer == "the dog"
    session.grammar = None
    generation = Generation(session, ToyText(), GenerationSettings(20), 4)
    generation.prefill(PROMPT)
    assert len(list(generation)) == 20


def test_a_draft_model_that_cannot_write_what_is_needed_drafts_up_to_it() -> None:
    def without_z(tokens: Sequence[int]) -> np.ndarray:
        row = LOGITS(tokens)
        row[26] = -np.inf
        return row

    sampling = SamplingSettings()
    drafter = model_drafter(sampling, "match", without_z)
    generation = generate(drafter, sampling, texts=["abc z z"], draft_max=8)
    assert generation.answer == "abc z z"
    assert generation.statistics.accepted == generation.statistics.drafted == 5


def test_a_dead_end_of_the_target_is_an_error() -> None:
    def never_b(tokens: Sequence[int]) -> np.ndarray:
        row = LOGITS(tokens)
        row[2] = -np.inf
        return row

    sampling = SamplingSettings()
    session = Session(
        ToyContext(never_b),
        PlainDrafter(),
        Sampler(sampling, N_VOCAB),
        RandomSource(0),
        "match",
        grammar=OneOfTexts((b"ab",), ToyText()),
    )
    generation = Generation(session, ToyText(), GenerationSettings(20), 4)
    generation.prefill(PROMPT)
    with pytest.raises(SpecdecError, match="the grammar allows no token"):
        list(generation)
    session.check()
