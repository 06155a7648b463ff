"""Every pair of different families is refused for the right reason; every file is compatible with itself."""

from __future__ import annotations

from itertools import permutations

import pytest

from specdec_cli.compat import compare
from specdec_cli.gguf.header import ModelHeader
from tests.support.families import FAMILIES, family_header

SPECIAL_CASES = {
    frozenset({"gpt-neox", "mpt"}): {"vocab.pre_tokenizer"},
    frozenset({"qwen2", "qwen35"}): {"vocab.pre_tokenizer"},
}
HEADERS = {name: family_header(name) for name in FAMILIES}


def errors(target: ModelHeader, draft: ModelHeader) -> set[str]:
    return {finding.code for finding in compare(target, draft).findings if finding.level == "error"}


def expected(target: str, draft: str) -> set[str]:
    if (target, draft) == ("phi-3", "llama-spm"):
        return {"vocab.target_only"}
    if (target, draft) == ("llama-spm", "phi-3"):
        return {"vocab.draft_only"}
    if frozenset({target, draft}) in SPECIAL_CASES:
        return SPECIAL_CASES[frozenset({target, draft})]
    same_type = FAMILIES[target][1]["tokenizer.ggml.model"] == FAMILIES[draft][1]["tokenizer.ggml.model"]
    return {"vocab.token_text"} if same_type else {"vocab.type", "vocab.token_text"}


@pytest.mark.parametrize("target", FAMILIES)
def test_a_target_refuses_every_other_family_for_the_right_reason(target: str) -> None:
    for draft in FAMILIES:
        if draft != target:
            assert errors(HEADERS[target], HEADERS[draft]) == expected(target, draft), draft


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_compatible_with_itself(name: str) -> None:
    report = compare(HEADERS[name], family_header(name))
    assert report.compatible
    assert report.vocabulary is not None
    assert report.vocabulary.different_texts == report.vocabulary.different_types == 0


def test_there_are_twenty_families() -> None:
    assert len(list(permutations(FAMILIES, 2))) == 20 * 19
