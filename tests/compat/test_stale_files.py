"""Which of the two files looks stale: the one that contradicts its own family's usual values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

from specdec_cli.compat import compare
from specdec_cli.findings import Finding
from specdec_cli.gguf.types import TokenType
from tests.support.gguf_files import as_raw
from tests.support.headers import model_header, vocabulary_of

LLAMA3_TEMPLATE = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>"
    "{{ m.content }}<|eot_id|>{% endfor %}"
)


@lru_cache
def listed(count: int, special: tuple[str, ...]) -> dict[str, Any]:
    """`count` ordinary tokens and then the special ones, serialized once: a list of this size takes a while."""
    types = [TokenType.NORMAL] * count + [TokenType.CONTROL] * len(special)
    return {
        "tokens": as_raw([*(f"w{number}" for number in range(count)), *special]),
        "token_type": as_raw(types),
    }


def large(count: int, special: tuple[str, ...], **keys: Any) -> dict[str, Any]:
    return vocabulary_of([], **{**listed(count, special), **keys})


def llama3(**keys: Any) -> dict[str, Any]:
    reserved = (f"<|reserved_special_token_{number}|>" for number in range(7))
    special = ("<|begin_of_text|>", "<|end_of_text|>", *reserved, "<|eot_id|>")
    usual = {
        "pre": "llama-bpe",
        "bos_token_id": 128_000,
        "eos_token_id": 128_009,
        "template": LLAMA3_TEMPLATE,
    }
    return large(128_000, special, **{**usual, **keys})


def qwen(**keys: Any) -> dict[str, Any]:
    special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    usual = {
        "pre": "qwen2",
        "bos_token_id": 151_643,
        "eos_token_id": 151_645,
        "template": "<|im_start|>x<|im_end|>",
    }
    return large(151_643, special, **{**usual, **keys})


def gemma(**keys: Any) -> dict[str, Any]:
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    values = {"model": "llama", "pre": "default", "bos_token_id": 2, "eos_token_id": 1, **keys}
    return vocabulary_of([*special, *(f"▁w{number}" for number in range(20))], control=special, **values)


def findings(target: dict[str, Any], draft: dict[str, Any] | None = None) -> list[Finding]:
    report = compare(
        model_header("target", vocabulary=target, parameters=1e8),
        None if draft is None else model_header("draft", vocabulary=draft, parameters=1e7),
    )
    return [finding for finding in report.findings if finding.code.startswith(("vocab.", "family."))]


def only(found: list[Finding], code: str) -> Finding:
    assert [finding.code for finding in found] == [code]
    return found[0]


@pytest.mark.parametrize("family", [llama3, qwen, gemma])
def test_usual_files_have_nothing_to_say(family: Any) -> None:
    assert findings(family(), family()) == []


@pytest.mark.parametrize("pre", [None, "default"])
def test_a_draft_without_its_pre_tokenizer_is_the_stale_one(pre: str | None) -> None:
    finding = only(findings(llama3(), llama3(pre=pre, add_bos_token=True)), "vocab.pre_tokenizer")
    assert finding.level == "warning"
    assert "the draft looks stale: Llama 3 files have `llama-bpe`" in finding.message


def test_a_target_without_its_pre_tokenizer_is_the_stale_one() -> None:
    finding = only(findings(llama3(pre="default", add_bos_token=True), llama3()), "vocab.pre_tokenizer")
    assert "the target looks stale" in finding.message


def test_a_single_stale_file_is_told_without_a_draft() -> None:
    finding = only(findings(llama3(pre=None, add_bos_token=True)), "family.pre_tokenizer")
    assert finding.level == "warning"
    assert "missing" in finding.message
    assert "`llama-bpe`" in finding.message


def test_two_stale_files_that_agree_are_both_told() -> None:
    found = findings(qwen(pre="default"), qwen(pre="default"))
    assert [(finding.code, finding.level) for finding in found] == [
        ("family.pre_tokenizer", "warning"),
        ("family.pre_tokenizer", "info"),
    ]


def test_gemma_without_bos_is_stale() -> None:
    finding = only(findings(gemma(add_bos_token=False), gemma()), "vocab.add_bos")
    assert finding.level == "warning"
    assert "target false, draft true; the target looks stale: Gemma 1–3 files have true" in finding.message
    assert only(findings(gemma(), gemma(add_bos_token=False)), "vocab.add_bos").level == "info"


def test_gemma_4_gets_its_bos_from_llama_cpp_whatever_the_file_says() -> None:
    four = {"model": "gemma4", "pre": None}
    assert findings(gemma(**four, add_bos_token=False), gemma(**four)) == []


def test_qwen_with_bos_is_stale() -> None:
    finding = only(findings(qwen(add_bos_token=True)), "family.add_bos")
    assert finding.level == "warning"
    assert "add_bos is true" in finding.message
    assert "Qwen 2–3" in finding.message


def test_llama_3_that_names_no_end_of_turn_is_told_as_information() -> None:
    finding = only(findings(llama3(eos_token_id=128_001)), "family.end_of_turn")
    assert finding.level == "info"
    assert "eos 128001 `<|end_of_text|>`, eot none" in finding.message


def test_a_base_model_needs_no_end_of_turn() -> None:
    assert findings(llama3(eos_token_id=128_001, template="{{ messages[0].content }}")) == []


def test_a_family_is_not_recognised_by_its_first_tokens_alone() -> None:
    def sentencepiece(count: int) -> dict[str, Any]:
        special = ["<unk>", "<s>", "</s>"]
        tokens = [*special, *(f"▁w{number}" for number in range(count - 3))]
        return vocabulary_of(tokens, model="llama", pre="default", control=special, add_bos_token=False)

    assert only(findings(sentencepiece(32_000)), "family.add_bos").level == "warning"
    assert findings(sentencepiece(32_064)) == []
