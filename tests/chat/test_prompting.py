"""Prompts turn after turn: what is taken over from the turn before, and what is read anew."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.chat.conversation import Conversation, Turn
from specdec_cli.chat.messages import transcript
from specdec_cli.chat.prompting import PromptBuilder
from specdec_cli.draft.plain import PlainDrafter
from specdec_cli.engine.session import Session
from specdec_cli.errors import SpecdecError
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from tests.support.byte_text import ByteText
from tests.support.chats import CHATML, ScriptedModel
from tests.support.toy import ToyContext

TRIMS = CHATML.replace("message.content", "message.content | trim")
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML
IGNORES_SYSTEM = CHATML.replace(
    "{% for message in messages %}", "{% for message in messages if message.role != 'system' %}"
)
DROPS_THINKING = CHATML.replace(
    "{{ message.content }}",
    "{{ message.content.split('</think>')[-1] if loop.index < messages|length else message.content }}",
)
REASONING = CHATML.replace(
    "{{ message.content }}",
    "{% if message.reasoning_content %}({{ message.reasoning_content }}){% endif %}{{ message.content }}",
)
OPENS_THINKING = DROPS_THINKING.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
PLAIN_WORDS = (
    "{% for message in messages %}### {{ message.role }}: {{ message.content }}\n\n{% endfor %}### assistant:"
)

SPECIALS = (
    "<|im_end|>", "<|im_start|>", "<s>", "</s>", "[INST]", "[/INST]", "<|begin_of_text|>", "<|eot_id|>",
    "<|start_header_id|>", "<|end_header_id|>",
)  # fmt: skip


def builder(template: str | None) -> tuple[PromptBuilder, ByteText]:
    text = ByteText(SPECIALS)
    model = ScriptedModel(
        Path("model.gguf"),
        lambda _tokens: np.zeros(text.n_vocab, dtype=np.float32),
        chat_template=template,
        template_tokens=("<s>", "</s>"),
        text=text,
    )
    return PromptBuilder(model), text


def collected_templates() -> dict[str, str]:
    """Every Jinja template that llama-cpp-python carries."""
    from llama_cpp import llama_chat_format

    found = {
        name: value
        for name, value in vars(llama_chat_format).items()
        if isinstance(value, str) and "{%" in value and not name.startswith("__")
    }
    for name, kind in vars(llama_chat_format).items():
        if inspect.isclass(kind):
            for attribute, value in vars(kind).items():
                if isinstance(value, str) and "{%" in value and attribute != "__doc__":
                    found[f"{name}.{attribute}"] = value
    return found


OURS = {
    "chatml": CHATML, "trims": TRIMS, "no system": NO_SYSTEM, "ignores system": IGNORES_SYSTEM,
    "drops thinking": DROPS_THINKING, "reasoning": REASONING, "opens thinking": OPENS_THINKING,
    "plain words": PLAIN_WORDS,
}  # fmt: skip
TEMPLATES: dict[str, str] = OURS | collected_templates()


def test_the_collection_is_there() -> None:
    assert len(TEMPLATES) - len(OURS) >= 8


def toy_session(text: ByteText) -> tuple[Session, ToyContext]:
    context = ToyContext(
        lambda _tokens: np.zeros(text.n_vocab, dtype=np.float32), n_ctx=1 << 20, n_vocab=text.n_vocab
    )
    sampler = Sampler(SamplingSettings(), text.n_vocab)
    return Session(context, PlainDrafter(), sampler, RandomSource(0), "match"), context


ANSWERS = st.tuples(
    st.sampled_from(["", "<think>he the\n</think>\n\n", " ", "\n"]),
    st.text("hello the\nuser: ##é", min_size=1, max_size=20),
    st.booleans(),  # as the tokenizer would write it, or byte by byte
    st.booleans(),  # ended by the end token, or cut
)
TURNS = st.lists(st.tuples(st.text("hi the\nser", min_size=1, max_size=12), ANSWERS), min_size=1, max_size=5)


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=20, deadline=None)
@given(turns=TURNS, system=st.sampled_from([None, "be in the"]))
def test_every_turn_spells_the_template_and_fills_the_cache_with_it(
    name: str, turns: list[tuple[str, Any]], system: str | None
) -> None:
    prompts, text = builder(TEMPLATES[name])
    session, context = toy_session(text)
    conversation = Conversation(system=system)
    for user, (thinking, words, canonical, ended) in turns:
        conversation = conversation.asking(user)
        try:
            prompt = prompts.build(conversation)
        except SpecdecError:
            assert name not in OURS
            return  # a template for tools or pictures refuses plain messages
        assert text.spell(prompt.tokens) == prompt.text
        context.decoded.clear()
        before = list(session.committed)
        session.start(prompt.tokens)
        session.check()
        assert context.tokens == list(prompt.tokens[:-1])
        shared = next(
            (i for i, pair in enumerate(zip(before, prompt.tokens, strict=False)) if pair[0] != pair[1]),
            min(len(before), len(prompt.tokens)),
        )
        assert len(context.decoded) <= len(prompt.tokens) - min(shared, len(before) - 1 if before else 0)
        answer = thinking + words
        tokens = (
            text.tokenize(answer, add_special=False, parse_special=False)
            if canonical
            else text.bytes_of(answer)
        )
        session.committed += [*tokens, 0] if ended else tokens
        context.tokens = session.committed[:-1]
        prompts.remember(prompt, answer, tokens)
        conversation = conversation.answering(Turn(user, answer, thinking_opened=prompt.opens_thinking))


@settings(max_examples=60, deadline=None)
@given(turns=TURNS)
def test_where_control_tokens_stand_between_turns_nothing_is_read_twice(turns: list[tuple[str, Any]]) -> None:
    prompts, text = builder(CHATML)
    conversation, committed, as_the_tokenizer = Conversation(), list[int](), True
    for user, (_, words, canonical, ended) in turns:
        conversation = conversation.asking(user)
        prompt = prompts.build(conversation)
        whole = text.tokenize(prompt.text, add_special=False, parse_special=True)
        assert prompt.tokens[: len(committed)] == tuple(committed)
        tokens = text.tokenize(words, add_special=False, parse_special=False)
        if not canonical:
            tokens = text.bytes_of(words)
        if as_the_tokenizer:
            assert list(prompt.tokens) == whole
        written = text.tokenize(prompt.text + words, add_special=False, parse_special=True)
        as_the_tokenizer = as_the_tokenizer and written == [*prompt.tokens, *tokens]
        prompts.remember(prompt, words, tokens)
        committed = [*prompt.tokens, *tokens, *([0] if ended else [])]
        conversation = conversation.answering(Turn(user, words))


def test_an_edited_turn_takes_over_what_is_before_it() -> None:
    prompts, text = builder(CHATML)
    first = Conversation().asking("hi")
    prompt = prompts.build(first)
    prompts.remember(prompt, "hello", text.bytes_of("hello"))
    second = first.answering(Turn("hi", "hello")).asking("the")
    asked = prompts.build(second)
    prompts.remember(asked, "in", text.bytes_of("in"))
    edited = prompts.build(first.answering(Turn("hi", "hello")).asking("other"))
    kept = len(prompt.tokens) + len("hello")
    assert edited.tokens[:kept] == asked.tokens[:kept]
    assert text.spell(edited.tokens) == edited.text
    fresh = prompts.build(Conversation().asking("hi"))
    assert fresh == prompt


def test_an_answer_that_was_cut_inside_a_character_is_read_anew() -> None:
    prompts, text = builder(CHATML)
    conversation = Conversation().asking("hi")
    prompt = prompts.build(conversation)
    torn = text.bytes_of("hé")[:-1]
    prompts.remember(prompt, "h", torn)
    again = prompts.build(conversation.answering(Turn("hi", "h")).asking("the"))
    assert list(again.tokens) == text.tokenize(again.text, add_special=False, parse_special=True)


@pytest.mark.parametrize("template", [NO_SYSTEM, IGNORES_SYSTEM])
def test_a_system_prompt_is_never_lost(template: str) -> None:
    prompts, _ = builder(template)
    text = prompts.build(Conversation(system="be kind").asking("hi")).text
    assert text.startswith("<|im_start|>user\nbe kind\n\nhi<|im_end|>")


def test_thinking_is_sent_back_only_where_the_template_keeps_it() -> None:
    said = "<think>\nlong thoughts\n</think>\n\nfine"
    conversation = Conversation().asking("hi").answering(Turn("hi", said)).asking("more")

    def sent(template: str) -> str:
        return builder(template)[0].build(conversation).text

    assert said in sent(CHATML)
    assert "thoughts" not in sent(DROPS_THINKING)
    assert "fine" in sent(DROPS_THINKING)
    assert "(long thoughts)fine" in sent(REASONING)


def test_thinking_that_the_prompt_opened_or_that_was_cut() -> None:
    prompts, _ = builder(OPENS_THINKING)
    conversation = Conversation().asking("hi")
    assert prompts.build(conversation).opens_thinking
    closed = conversation.answering(Turn("hi", "thoughts</think>fine", thinking_opened=True)).asking("more")
    text = prompts.build(closed).text
    assert "fine" in text
    assert "thoughts" not in text
    cut = conversation.answering(Turn("hi", "<think>thoughts")).asking("more")
    assert "thoughts" not in prompts.build(cut).text


def test_a_summary_stands_where_the_turns_were() -> None:
    prompts, _ = builder(CHATML)
    conversation = Conversation(system="be kind")
    for number in range(3):
        conversation = conversation.asking(f"question {number}").answering(
            Turn(f"question {number}", "answer")
        )
    text = prompts.build(conversation.asking("last").dropping(2, "they said little")).text
    assert "be kind\n\nSummary of the conversation so far:\nthey said little<|im_end|>" in text
    assert "question 1" not in text
    assert "question 2" in text


def test_a_model_without_a_template_gets_a_transcript() -> None:
    prompts, _ = builder(None)
    conversation = Conversation(system="be kind").asking("hi").answering(Turn("hi", " hello")).asking("more")
    assert prompts.build(conversation).text == transcript(conversation)
    assert transcript(conversation) == "be kind\n\nUser: hi\nAssistant: hello\nUser: more\nAssistant:"
    assert prompts.stop == ("\nUser:",)
    assert not prompts.has_template
