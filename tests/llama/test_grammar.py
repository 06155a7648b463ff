"""llama.cpp's grammar sampler behind `Constraint`: what is allowed, forced, complete and ended; never an abort."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec_cli.errors import EngineFault, UsageProblem
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.llama.grammar import LlamaConstraint
from specdec_cli.llama.model import LlamaModel
from specdec_cli.llama.token_bytes import unfinished
from specdec_cli.settings import ContextSettings
from tests.support.grammars import Language, accepts, finite_grammars, tokens_for
from tests.support.tiny_models import bpe_vocabulary, spm_vocabulary, write_tiny_model

STRING = 'root ::= "\\"" [^"\\\\\\x00-\\x1F]* "\\""'


@pytest.fixture(scope="module", params=["bpe", "spm"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaModel]:
    vocabulary = {"bpe": bpe_vocabulary, "spm": spm_vocabulary}[request.param]()
    path = write_tiny_model(tmp_path_factory.mktemp("grammar") / "tiny.gguf", vocabulary=vocabulary)
    loaded = LlamaBackend().load(path, ContextSettings())
    yield loaded
    loaded.close()


def advance(constraint: LlamaConstraint, model: LlamaModel, text: str) -> LlamaConstraint:
    for token in tokens_for(text.encode(), model.text):
        constraint.accept(token)
    return constraint


def whole(model: LlamaModel) -> np.ndarray:
    return np.arange(model.text.n_vocab)


def common_beginning(texts: list[bytes]) -> bytes:
    return next(
        min(texts)[:size] for size in range(len(min(texts)), -1, -1) if max(texts)[:size] == min(texts)[:size]
    )


def pieces_allowed(constraint: LlamaConstraint, model: LlamaModel) -> set[bytes]:
    return {model.text.piece(int(token)) for token in whole(model)[constraint.allowed(whole(model))]}


def test_allowed_are_the_beginnings_of_what_may_come(model: LlamaModel) -> None:
    constraint = model.new_constraint('root ::= "the" | "in"')
    assert pieces_allowed(constraint, model) == {b"t", b"i", b"in", b"th", b"the"} & {
        model.text.piece(token) for token in range(model.text.n_vocab)
    }
    assert pieces_allowed(advance(constraint, model, "t"), model) == {b"h", b"he"} & {
        model.text.piece(token) for token in range(model.text.n_vocab)
    }


def test_complete_and_ended(model: LlamaModel) -> None:
    constraint = model.new_constraint('root ::= "a" "b"*')
    assert (constraint.complete, constraint.ended) == (False, False)
    advance(constraint, model, "a")
    assert (constraint.complete, constraint.ended) == (True, False)
    ends = whole(model)[[model.text.is_end_of_generation(int(token)) for token in whole(model)]]
    assert constraint.allowed(ends).all()
    constraint.accept(int(ends[0]))
    assert constraint.ended
    assert not constraint.allowed(whole(model)).any()
    over = advance(model.new_constraint('root ::= "a"'), model, "a")
    assert (over.complete, over.ended) == (True, True)


def test_forks_are_independent(model: LlamaModel) -> None:
    constraint = model.new_constraint('root ::= "ab" | "cd"')
    fork = advance(constraint.fork(), model, "a")
    assert pieces_allowed(fork, model) == {b"b"}
    assert b"c" in pieces_allowed(constraint, model)
    again = advance(fork.fork(), model, "b")
    assert again.ended
    assert not fork.ended


def test_forced_text(model: LlamaModel) -> None:
    constraint = model.new_constraint('root ::= "na\\u00efve: " ("yes" | "yet") "!"?')
    assert constraint.forced(100) == "naïve: ye".encode()
    assert constraint.forced(4) == "naïve".encode()[:4]
    assert not constraint.complete
    assert constraint.forced(100) == "naïve: ye".encode()
    assert advance(constraint, model, "naïve: ye").forced(9) == b""
    assert advance(constraint, model, "s").forced(9) == b""
    assert advance(model.new_constraint('root ::= "ab"'), model, "a").forced(9) == b"b"


def test_control_tokens_are_no_text(model: LlamaModel) -> None:
    constraint = advance(model.new_constraint(STRING), model, '"')
    for token in whole(model):
        if not model.text.piece(int(token)):
            assert not constraint.allowed(np.array([token]))[0]


def test_only_utf8_is_text(model: LlamaModel) -> None:
    constraint = advance(model.new_constraint(STRING), model, '"')

    def allowed(data: bytes) -> bool:
        return bool(constraint.allowed(np.array(tokens_for(data, model.text)))[0])

    assert [byte for byte in range(128, 256) if allowed(bytes([byte]))] == list(range(0xC2, 0xF5))
    for bad_start, bad_next in ((b"\xe0", b"\x82"), (b"\xf0", b"\x80"), (b"\xed", b"\xa0"), (b"\xc3", b'"')):
        fork = constraint.fork()
        fork.accept(tokens_for(bad_start, model.text)[0])
        assert not fork.complete
        assert not fork.allowed(np.array(tokens_for(bad_next, model.text)))[0]
    advance(constraint, model, 'é한😀"')
    assert constraint.ended


def test_nothing_ends_within_a_character(model: LlamaModel) -> None:
    constraint = model.new_constraint("root ::= .*")
    assert constraint.complete
    constraint.accept(tokens_for(b"\xc3", model.text)[0])
    assert not constraint.complete
    assert not constraint.ended


def test_a_class_without_a_wide_character_leaves_the_others(model: LlamaModel) -> None:
    constraint = model.new_constraint('root ::= "a" ([^\\U00000080-\\U0010FFFEa-z] | "z")?')
    assert constraint.forced(9) == b""
    advance(constraint, model, "a")
    assert not constraint.ended
    assert constraint.complete
    assert pieces_allowed(constraint, model) >= {b"A", b"z", b"~"}
    assert advance(constraint.fork(), model, "A").ended


def test_asking_for_many_is_asking_for_each(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "many.gguf", vocabulary=bpe_vocabulary(3000))
    loaded = LlamaBackend().load(path, ContextSettings())
    everything = np.arange(loaded.text.n_vocab)
    for grammar, text in (
        (STRING, ""),
        (STRING, '"filler'),
        ('root ::= "filler" [0-9]+ "é"?', "fil"),
        ('root ::= "filler" [0-9]+ "é"?', "filler2"),
        ("root ::= [^é]+", ""),
        ('root ::= "\\u00e9" .*', ""),
    ):
        constraint = advance(loaded.new_constraint(grammar), loaded, text)
        each = np.concatenate([constraint.allowed(everything[at : at + 500]) for at in range(0, 3000, 500)])
        assert np.array_equal(constraint.allowed(everything), each), grammar
        assert each.any()
    loaded.close()


def test_what_would_end_the_process_is_refused_before(model: LlamaModel) -> None:
    constraint = model.new_constraint('root ::= "a"')
    with pytest.raises(EngineFault, match="does not allow"):
        advance(constraint, model, "b")
    end = next(int(t) for t in whole(model) if model.text.is_end_of_generation(int(t)))
    with pytest.raises(EngineFault, match="does not allow"):
        constraint.accept(end)
    for wrong in ([-1], [model.text.n_vocab], [0] * (model.text.n_vocab + 1)):
        with pytest.raises(EngineFault, match="outside the vocabulary"):
            constraint.allowed(np.array(wrong))
    assert constraint.allowed(np.array([], dtype=np.int64)).shape == (0,)
    for grammar in (
        'root ::= root "a"',
        "root ::= e root | [a]\ne ::= [x]?",
        'root ::= "a"{5,1}',
        "root ::= <[3]>",
    ):
        with pytest.raises(UsageProblem):
            model.new_constraint(grammar)


def test_a_vocabulary_that_cannot_write_the_start(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "small.gguf", vocabulary=bpe_vocabulary(80))
    loaded = LlamaBackend().load(path, ContextSettings())
    loaded.new_constraint('root ::= "a"')
    with pytest.raises(UsageProblem, match="vocabulary cannot write"):
        loaded.new_constraint('root ::= "\\u00e9"')
    loaded.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=finite_grammars(), data=st.data())
def test_token_by_token_equals_the_whole_text(
    model: LlamaModel, made: tuple[str, Language], data: st.DataObject
) -> None:
    grammar, language = made
    constraint = model.new_constraint(grammar)
    known = sorted(language)
    text = data.draw(st.sampled_from(known) | st.text('abthe é한😀"\\\nin]x', max_size=8))
    cuts = data.draw(st.lists(st.integers(1, 4), max_size=3))
    assert accepts(constraint, tokens_for(text.encode(), model.text, cuts)) == (text in language)
    # Any beginning is allowed exactly if some text goes on from there, and forced is what they all share.
    size = data.draw(st.integers(0, len(text)))
    state, before = constraint.fork(), text[:size]
    possible = [other[size:] for other in known if other.startswith(before)]
    for token in tokens_for(before.encode(), model.text):
        if not state.allowed(np.array([token]))[0]:
            assert not possible
            return
        state.accept(token)
    assert possible
    assert state.complete == ("" in possible)
    assert state.ended == (possible == [""])
    assert state.forced(50) == common_beginning([text.encode() for text in possible] + [b""] * state.complete)


PARTS = (
    *('"x"', "[a-c]", "[^x]", "(", ")", "|", "*", "+", "?", "{2}", "{0,3}", "{2,}", "a", "b", "c", "\n", " "),
    *("#c\n", ".", '""', '"é\\n"', "\r\n", "[\\]-]", "\t", "{ 1 , 2 }"),
)


def test_what_is_taken_here_llama_cpp_takes_too(model: LlamaModel) -> None:
    taken = 0
    for seed in range(12_000):
        choices = random.Random(seed)
        between = choices.choice(["", " "])
        bodies = [between.join(choices.choices(PARTS, k=choices.randint(1, 6))) for _ in "rabc"]
        names = ("root", *(name for name in "abc" if choices.random() < 0.8))
        grammar = "\n".join(f"{name} ::= {body}" for name, body in zip(names, bodies, strict=False))
        try:
            constraint = model.new_constraint(grammar)
        except UsageProblem:
            continue
        taken += 1
        for _ in range(4):
            if not constraint.ended:
                constraint.accept(int(choices.choice(whole(model)[constraint.allowed(whole(model))])))
    assert taken > 100


def test_unfinished_characters() -> None:
    assert unfinished(b"abc") == b""
    assert unfinished("é".encode()[:1]) == b"\xc3"
    assert unfinished(b"a\xf0\x9f") == b"\xf0\x9f"
    assert unfinished(b"\xa9") is None
    assert unfinished(b"\xe0\x82") is None


def test_a_json_string_that_is_one(model: LlamaModel) -> None:
    constraint = model.new_constraint(STRING)
    for text, expected in (('"héllo"', True), ('"a\nb"', False), ('"a"b', False), ('"a', False)):
        assert accepts(constraint, tokens_for(text.encode(), model.text)) == expected
        if expected:
            json.loads(text)
