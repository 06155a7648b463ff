"""The vocabulary: token texts and types, special ids, and the faults that llama.cpp would stumble over."""

import pytest

from specdec_cli.gguf.header import TokenType, Vocabulary
from specdec_cli.gguf.reader import HeaderProblem, parse_header
from specdec_cli.gguf.types import ValueType
from specdec_cli.gguf.vocabulary import SPECIAL_KEYS
from tests.support.gguf_files import BytesSource, gguf_bytes, typed
from tests.support.tiny_models import CHATML, architecture_metadata, bpe_vocabulary, spm_vocabulary


def read(vocabulary: dict) -> Vocabulary | None:
    return parse_header(BytesSource(gguf_bytes(architecture_metadata() | vocabulary)), "m.gguf").vocabulary


def refusal(vocabulary: dict) -> str:
    with pytest.raises(HeaderProblem) as caught:
        read(vocabulary)
    assert caught.value.code == "file.vocabulary"
    assert caught.value.hint is not None
    return caught.value.message


@pytest.mark.parametrize("make", [bpe_vocabulary, spm_vocabulary])
def test_tokens_and_types_are_what_was_written(make):
    written = make(chat_template=CHATML)
    vocabulary = read(written)
    texts = [text.encode() for text in written["tokenizer.ggml.tokens"]]
    assert list(vocabulary.tokens) == texts
    assert [vocabulary.tokens[i] for i in range(len(texts))] == texts
    assert vocabulary.tokens[-1] == texts[-1]
    assert vocabulary.tokens[2:5] == tuple(texts[2:5])
    assert list(vocabulary.types) == written["tokenizer.ggml.token_type"]
    assert vocabulary.n_tokens == len(texts) == 300
    assert vocabulary.model == written["tokenizer.ggml.model"]
    assert vocabulary.pre == written.get("tokenizer.ggml.pre")
    assert vocabulary.chat_template == CHATML
    assert list(vocabulary.ids_of_type(TokenType.CONTROL)) == [
        i for i, kind in enumerate(written["tokenizer.ggml.token_type"]) if kind == TokenType.CONTROL
    ]


def test_an_index_outside_the_vocabulary_is_an_error():
    tokens = read(bpe_vocabulary(64)).tokens
    with pytest.raises(IndexError):
        tokens[64]
    with pytest.raises(IndexError):
        tokens[-65]


def test_special_ids_are_stated_stray_or_llama_cpps_default():
    stated = {
        key.removeprefix("tokenizer.ggml."): number
        for number, key in enumerate(SPECIAL_KEYS.values(), start=20)
    }
    everything = read(bpe_vocabulary(**stated))
    assert dict(everything.special_ids) == {
        name: number for number, name in enumerate(SPECIAL_KEYS, start=20)
    }
    assert (everything.bos, everything.eos, everything.eot) == (20, 21, 22)
    assert (everything.unk, everything.sep, everything.pad) == (24, 25, 26)

    stray = read(spm_vocabulary(bos_token_id=300, eos_token_id=None))
    assert stray.bos is None
    assert dict(stray.stray_ids) == {"bos": 300}
    assert stray.eos is None
    assert (stray.effective_special_id("bos"), stray.effective_special_id("eos")) == (1, 2)
    assert stray.effective_special_id("pad") is None
    assert read(bpe_vocabulary(64, bos_token_id=None)).effective_special_id("bos") == 11


def test_flags_are_three_valued():
    assert read(bpe_vocabulary(add_bos_token=True)).add_bos is True
    assert read(bpe_vocabulary(add_bos_token=False)).add_bos is False
    assert read(bpe_vocabulary(add_bos_token=None)).add_bos is None
    assert read(bpe_vocabulary(add_eos_token=True)).add_eos is True


def test_text_for_people_escapes_what_is_not_unicode():
    vocabulary = bpe_vocabulary(64)
    vocabulary["tokenizer.ggml.tokens"][63] = b"\xc3"
    read_back = read(vocabulary)
    assert read_back.text(63) == "\\xc3"
    assert read_back.text(0) == "<|endoftext|>"
    assert read_back.type_of(0) == TokenType.CONTROL


def test_without_types_every_question_about_them_is_answered_with_none():
    vocabulary = read(bpe_vocabulary(64, token_type=None))
    assert vocabulary.types is None
    assert vocabulary.type_of(3) is None
    assert list(vocabulary.ids_of_type(TokenType.NORMAL)) == []


def test_no_token_list_is_no_vocabulary_and_so_is_one_that_is_not_to_be_used():
    assert read({}) is None
    assert read({"tokenizer.ggml.model": "gpt2"}) is None
    assert read(bpe_vocabulary(64, model="no_vocab")) is None


def test_empty_tokens_may_repeat_because_llama_cpp_names_them_itself():
    vocabulary = bpe_vocabulary(64)
    vocabulary["tokenizer.ggml.tokens"][62:] = ["", ""]
    assert read(vocabulary).tokens[62:] == (b"", b"")


def test_a_token_twice_is_refused_naming_both():
    vocabulary = bpe_vocabulary(64)
    vocabulary["tokenizer.ggml.tokens"][60] = vocabulary["tokenizer.ggml.tokens"][40]
    assert f"tokens 40 and 60 are both {vocabulary['tokenizer.ggml.tokens'][40]}" in refusal(vocabulary)


def test_a_zero_byte_in_a_token_is_refused_naming_it():
    vocabulary = bpe_vocabulary(64)
    vocabulary["tokenizer.ggml.tokens"][60] = "nu\0l"
    assert r"token 60 (nu\x00l) has a zero byte" in refusal(vocabulary)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"tokens": []}, "no tokens"),
        ({"tokens": [1, 2]}, "not a list of texts"),
        ({"tokens": "abc"}, "not a list of texts"),
        ({"model": None}, "no tokenizer.ggml.model"),
        ({"model": 3}, "no tokenizer.ggml.model"),
        ({"token_type": [1] * 63}, "63 entries for 64 tokens"),
        (
            {"token_type": typed(ValueType.UINT32, [1] * 64, array=True)},
            "token_type is not a list of numbers",
        ),
        ({"token_type": 1}, "token_type is not a list of numbers"),
        ({"scores": [0.0] * 63}, "63 entries for 64 tokens"),
        ({"scores": ["a"] * 64}, "scores is not a list of numbers"),
        ({"bos_token_id": "one"}, "bos_token_id is not a whole number"),
        ({"eos_token_id": True}, "eos_token_id is not a whole number"),
    ],
)
def test_a_vocabulary_that_llama_cpp_refuses_is_refused_with_the_field(overrides, words):
    assert words in refusal(bpe_vocabulary(64, **overrides))
