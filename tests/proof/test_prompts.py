"""The built-in prompts, prompts from a file, and which of them are asked more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.proof.prompts import BUILT_IN, YOURS, Prompt, one_of_each_kind, read_prompts


def test_there_are_24_prompts_of_six_kinds() -> None:
    assert len({prompt.text for prompt in BUILT_IN}) == 24
    assert Counter(prompt.kind for prompt in BUILT_IN) == dict.fromkeys(
        ("code", "chat", "list", "json", "translation", "copy"), 4
    )


def test_prompts_to_copy_from_share_their_document_so_that_it_is_read_once() -> None:
    documents = {prompt.text[: prompt.text.rindex("\n\n")] for prompt in BUILT_IN if prompt.kind == "copy"}
    assert len(documents) == 1
    assert len(documents.pop().split()) > 300


def test_a_file_has_one_prompt_a_line(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes("\ufeffHello\r\n\n  Grüße \u2028 still the same line\n".encode())
    assert read_prompts(file) == (Prompt(YOURS, "Hello"), Prompt(YOURS, "Grüße \u2028 still the same line"))


def test_files_that_are_no_prompts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(UsageProblem, match=r"empty\.txt: there is no prompt"):
        read_prompts(tmp_path / "empty.txt")
    with pytest.raises(SpecdecError, match="0xe9 at offset 3"):
        read_prompts(tmp_path / "latin.txt")
    with pytest.raises(SpecdecError, match=r"missing\.txt cannot be read"):
        read_prompts(tmp_path / "missing.txt")
    with pytest.raises(SpecdecError, match="cannot be read"):
        read_prompts(tmp_path)


def test_the_chosen_few_differ_as_much_as_they_can() -> None:
    kinds = [Prompt(kind, "") for kind in "aabbc"]
    assert one_of_each_kind(kinds, 3) == (0, 2, 4)
    assert one_of_each_kind(kinds, 4) == (0, 2, 4, 1)
    assert one_of_each_kind(kinds, 99) == (0, 2, 4, 1, 3)
    assert {BUILT_IN[index].kind for index in one_of_each_kind(BUILT_IN, 6)} == {p.kind for p in BUILT_IN}
