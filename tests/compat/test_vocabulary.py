"""Two vocabularies, token by token and field by field: the level follows from what breaks."""

from __future__ import annotations

import time
from typing import Any

import pytest

from specdec_cli.compat import CompatibilityReport, compare
from specdec_cli.findings import Finding
from tests.support.headers import model_header, vocabulary_of

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
BASE = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"word{number}" for number in range(40))]
SPECIAL = BASE[:3]


def words(tokens: list[str] | None = None, **keys: Any) -> dict[str, Any]:
    keys = {"control": SPECIAL, "bos_token_id": 0, "eos_token_id": 2, "template": CHATML, **keys}
    return vocabulary_of(BASE if tokens is None else tokens, **keys)


def report(target: dict[str, Any], draft: dict[str, Any], **more: Any) -> CompatibilityReport:
    return compare(
        model_header("target", vocabulary=target, parameters=1e8, **more),
        model_header("draft", vocabulary=draft, parameters=1e7),
    )


def vocabulary_findings(target: dict[str, Any], draft: dict[str, Any]) -> list[Finding]:
    prefixes = ("vocab.", "family.", "template.")
    return [finding for finding in report(target, draft).findings if finding.code.startswith(prefixes)]


def the_finding(target: dict[str, Any], draft: dict[str, Any], code: str) -> Finding:
    (found,) = [finding for finding in vocabulary_findings(target, draft) if finding.code == code]
    return found


def replaced(token: int, text: str) -> list[str]:
    return [*BASE[:token], text, *BASE[token + 1 :]]


def test_equal_vocabularies_have_nothing_to_say() -> None:
    assert vocabulary_findings(words(), words()) == []


def test_one_ordinary_token_that_differs_is_refused_with_its_id_and_both_texts() -> None:
    finding = the_finding(words(), words(replaced(20, "wort17")), "vocab.token_text")
    assert finding.level == "error"
    assert finding.overridable
    assert "1 of 43 shared tokens differ" in finding.message
    assert "20 `word17` against `wort17`" in finding.message
    assert finding.hint is not None


def test_the_first_three_differences_are_shown_and_all_are_counted() -> None:
    other = [text.upper() if number >= 10 else text for number, text in enumerate(BASE)]
    result = report(words(), words(other))
    assert result.vocabulary is not None
    assert result.vocabulary.different_texts == 33
    assert [d.token for d in result.vocabulary.first_differences] == [10, 11, 12]
    assert result.vocabulary.first_differences[0].draft_text == "WORD7"


def test_special_tokens_alone_that_differ_are_a_reason_of_their_own() -> None:
    distill = replaced(1, "<｜User｜>")
    distill[0] = "<｜end▁of▁sentence｜>"
    finding = the_finding(
        words(distill, control=["<｜User｜>", "<｜end▁of▁sentence｜>", "<|im_end|>"], eos_token_id=0),
        words(),
        "vocab.special_tokens",
    )
    assert finding.level == "error"
    assert "0 `<｜end▁of▁sentence｜>` against `<|endoftext|>`" in finding.message
    assert "target's eos" in finding.message
    assert "R1" in (finding.hint or "")


def test_a_special_token_against_an_ordinary_one_is_a_different_tokenizer() -> None:
    found = vocabulary_findings(
        words(), words(replaced(1, "plainly"), control=["<|endoftext|>", "<|im_end|>"])
    )
    assert [finding.code for finding in found] == ["vocab.token_text"]


def test_a_placeholder_against_a_token_is_tolerated_and_told() -> None:
    longer = [*BASE, "<think>"]
    finding = the_finding(
        words(longer, control=[*SPECIAL, "<think>"]), words([*BASE, "[PAD43]"]), "vocab.reserved_tokens"
    )
    assert finding.level == "warning"
    assert "43 `<think>` against `[PAD43]`" in finding.message


def test_a_placeholder_in_place_of_the_targets_end_token_is_refused() -> None:
    longer = [*BASE, "<｜User｜>"]
    finding = the_finding(
        words(longer, control=[*SPECIAL, "<｜User｜>"], eos_token_id=43),
        words([*BASE, "[PAD43]"]),
        "vocab.special_tokens",
    )
    assert finding.level == "error"


@pytest.mark.parametrize(
    "placeholder", ["[PAD{}]", "<unused{}>", "<|reserved_special_token_{}|>", "<extra_id_{}>", "<SPECIAL_{}>"]
)
def test_padding_of_either_file_is_tolerated_and_counted(placeholder: str) -> None:
    padded = [*BASE, *(placeholder.format(number) for number in range(128))]
    for target, draft, told in ((padded, BASE, "128 are padding"), (BASE, padded, "never proposed")):
        result = report(words(target), words(draft))
        finding = the_finding(words(target), words(draft), "vocab.padding")
        assert result.compatible
        assert finding.level == "info"
        assert told in finding.message
        assert result.vocabulary is not None
        assert result.vocabulary.padding == 128
        assert result.vocabulary.shared == len(BASE)
        assert result.vocabulary.never_proposed == max(0, len(draft) - len(target))


def test_padding_known_by_its_type_only() -> None:
    padded = [*BASE, "qqq1", "qqq2"]
    assert the_finding(words(), words(padded, unused=["qqq1", "qqq2"]), "vocab.padding").level == "info"


def test_image_tokens_at_the_end_of_the_target_are_no_obstacle_to_text() -> None:
    result = report(words([*BASE, "<image_soft_token>"], control=[*SPECIAL, "<image_soft_token>"]), words())
    assert result.compatible


def test_real_tokens_that_only_the_target_has_would_break_the_draft() -> None:
    finding = the_finding(
        words([*BASE, "<|user|>"], control=[*SPECIAL, "<|user|>"]), words(), "vocab.target_only"
    )
    assert finding.level == "error"
    assert not finding.overridable
    assert "43 `<|user|>`" in finding.message


def test_real_tokens_that_only_the_draft_has_are_never_proposed() -> None:
    finding = the_finding(words(), words([*BASE, "novel"]), "vocab.draft_only")
    assert finding.level == "info"
    assert "43 `novel`" in finding.message
    assert "never proposed" in finding.message


def test_a_draft_whose_end_token_the_target_lacks_is_of_another_family() -> None:
    finding = the_finding(
        words(), words([*BASE, "<|end|>"], control=[*SPECIAL, "<|end|>"], eos_token_id=43), "vocab.draft_only"
    )
    assert finding.level == "error"
    assert "eos is 43 `<|end|>`" in finding.message


def test_another_tokenizer_type_is_named_with_both_values() -> None:
    finding = the_finding(words(), words(model="llama"), "vocab.type")
    assert finding.level == "error"
    assert "target `gpt2`, draft `llama`" in finding.message


def test_a_type_that_differs_says_which_file_looks_stale() -> None:
    stale = words(control=["<|endoftext|>", "<|im_start|>"])
    finding = the_finding(stale, words(), "vocab.token_type")
    assert finding.level == "warning"
    assert (
        "2 `<|im_end|>`: normal in the target, control in the draft; the target looks stale"
        in finding.message
    )
    finding = the_finding(words(), stale, "vocab.token_type")
    assert finding.level == "info"
    assert "the draft looks stale" in finding.message


def test_files_without_token_types_are_compared_by_text() -> None:
    assert vocabulary_findings(words(types=False), words()) == []


def test_two_known_pre_tokenizers_are_refused_by_name() -> None:
    finding = the_finding(words(pre="qwen2"), words(pre="gpt-2"), "vocab.pre_tokenizer")
    assert finding.level == "error"
    assert "target `qwen2`, draft `gpt-2`" in finding.message


def test_two_names_of_one_rule_are_the_same() -> None:
    assert vocabulary_findings(words(pre="qwen2"), words(pre="deepseek-r1-qwen")) == []


def test_a_missing_pre_tokenizer_in_the_same_architecture_is_an_old_file() -> None:
    finding = the_finding(words(pre="qwen2"), words(pre=None), "vocab.pre_tokenizer")
    assert finding.level == "warning"
    assert "draft missing" in finding.message


def test_sentencepiece_has_no_pre_tokenizer_to_differ_in() -> None:
    assert vocabulary_findings(words(model="llama", pre="default"), words(model="llama", pre=None)) == []


def test_bos_that_is_not_added_is_information_and_one_that_is_a_warning() -> None:
    finding = the_finding(words(), words(bos_token_id=1), "vocab.bos")
    assert finding.level == "info"
    assert "target 0 `<|endoftext|>`, draft 1 `<|im_start|>`" in finding.message
    assert (
        the_finding(words(add_bos_token=True), words(add_bos_token=True, bos_token_id=1), "vocab.bos").level
        == "warning"
    )


def test_eos_that_differs_is_a_warning_unless_it_ends_a_turn_in_the_draft() -> None:
    finding = the_finding(words(), words(eos_token_id=0), "vocab.eos")
    assert finding.level == "warning"
    assert "target 2 `<|im_end|>`, draft 0 `<|endoftext|>`" in finding.message
    assert the_finding(words(), words(eos_token_id=0, eot_token_id=2), "vocab.eos").level == "info"


def test_eot_is_compared_too() -> None:
    assert the_finding(words(eot_token_id=0), words(eot_token_id=1), "vocab.eot").level == "warning"
    assert the_finding(words(eot_token_id=0), words(), "vocab.eot").level == "info"


def test_flags_that_differ_matter_little_because_the_target_tokenizes_once() -> None:
    finding = the_finding(words(add_bos_token=True), words(add_bos_token=False), "vocab.add_bos")
    assert finding.level == "info"
    assert "target true, draft false" in finding.message
    assert the_finding(words(add_eos_token=True), words(), "vocab.add_eos").level == "info"


def test_flags_are_compared_by_what_llama_cpp_does_where_a_file_is_silent() -> None:
    tekken = words(pre="tekken")
    assert vocabulary_findings(tekken, words(pre="tekken", add_bos_token=True)) == []


def test_a_file_without_vocabulary_is_refused_by_name() -> None:
    bare = {"tokenizer.ggml.model": "none"}
    finding = next(f for f in report(words(), bare).findings if f.code == "vocab.missing")
    assert finding.level == "error"
    assert "the draft" in finding.message
    assert not finding.overridable


def test_control_characters_of_a_token_cannot_reach_the_terminal() -> None:
    finding = the_finding(words(), words(replaced(20, "\x1b[31mred\n")), "vocab.token_text")
    assert "\x1b" not in finding.message
    assert "\n" not in finding.message


def test_equal_vocabularies_of_262144_tokens_are_compared_in_a_tenth_of_a_second() -> None:
    large = words([*BASE, *(f"▁piece{number}" for number in range(262_144 - len(BASE)))])
    target, draft = model_header("target", vocabulary=large), model_header("draft", vocabulary=large)
    fastest = 1.0
    for _ in range(3):
        start = time.perf_counter()
        result = compare(target, draft)
        fastest = min(fastest, time.perf_counter() - start)
    assert result.compatible
    assert fastest <= 0.1
