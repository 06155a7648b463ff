"""`specdec run`, the real program over a toy model: what it prints, where, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import CliResult, run_cli
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import PIECES, ToyBackend, noisy, scripted_logits, table_logits

WORDS = table_logits(7, end_bias=-9.0)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_tiny_model(tmp_path / "target.gguf"), write_tiny_model(tmp_path / "draft.gguf")


def run(
    pair: tuple[Path, Path], *arguments: object, backend: ToyBackend | None = None, **more: Any
) -> CliResult:
    """With the draft model, at its usual length, unless the arguments say otherwise."""
    chosen = backend or ToyBackend(target_logits=WORDS)
    if "--drafter" not in arguments:
        arguments = (*arguments, "--drafter", "model")
    return run_cli("run", "--target", pair[0], "--draft", pair[1], *arguments, backend=lambda: chosen, **more)


def plain(pair: tuple[Path, Path], *arguments: object, **more: Any) -> CliResult:
    chosen = ToyBackend(target_logits=WORDS)
    return run_cli(
        "run", "--target", pair[0], "--drafter", "none", *arguments, backend=lambda: chosen, **more
    )


def test_stdout_is_the_text_and_nothing_else(pair: tuple[Path, Path]) -> None:
    result = run(pair, "hello", "-n", "20")
    assert result.code == 0
    assert result.stdout == plain(pair, "hello", "-n", "20").stdout
    assert result.stdout


def test_the_summary_is_one_line_on_stderr(pair: tuple[Path, Path]) -> None:
    (line,) = run(pair, "hello", "-n", "20").stderr.splitlines()
    for part in ("20 tokens", "tok/s", "% accepted", "per round", "speculation: on (model, match)"):
        assert part in line
    (line,) = plain(pair, "hello", "-n", "20").stderr.splitlines()
    assert "speculation: off (--drafter none)" in line


def test_quiet_prints_only_the_text(pair: tuple[Path, Path]) -> None:
    assert run(pair, "hello", "-n", "5", "-q").stderr == ""


def test_json_is_the_document_of_the_design_and_nothing_else(pair: tuple[Path, Path]) -> None:
    result = run(pair, "hello", "-n", "20", "--json")
    assert result.code == 0
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    document = result.document
    assert document["schema"] == 1
    assert document["text"] == plain(pair, "hello", "-n", "20").stdout
    assert document["finish_reason"] == "length"
    assert document["generation"]["tokens"] == len(document["token_ids"]) == 20
    assert document["prompt"]["tokens"] == 5
    speculation = document["speculation"]
    assert speculation["state"] == "on"
    assert 0 < speculation["accepted"] <= speculation["drafted"]
    assert speculation["acceptance_rate"] == speculation["accepted"] / speculation["drafted"]
    assert speculation["mean_tokens_per_round"] == 20 / speculation["rounds"]
    assert len(speculation["accepted_by_position"]) <= 4
    assert sum(document["time"].values()) == pytest.approx(document["generation"]["seconds"], abs=1e-6)
    assert document["target"]["path"] == str(pair[0])
    assert document["draft"]["path"] == str(pair[1])
    assert set(document["engine"]) == {"llama_cpp_python", "backend"}


def test_plain_decoding_loads_no_draft(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS)
    result = run_cli(
        "run", "--target", pair[0], "--json", "--drafter", "ngram", "aaa", backend=lambda: backend
    )
    assert result.document["draft"] is None
    assert [model.path for model in backend.models] == [pair[0]]


def test_everything_is_closed_at_the_end(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS)
    run(pair, "hello", "-n", "5", backend=backend)
    assert all(model.closed for model in backend.models)
    assert len(backend.models) == 2


def test_one_file_as_both_is_loaded_once(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS)
    result = run_cli(
        *("run", "--target", pair[0], "--draft", pair[0], "--drafter", "model"),
        *("hello", "-n", "30", "--json"),
        backend=lambda: backend,
    )
    assert len(backend.models) == 1
    assert result.document["speculation"]["acceptance_rate"] == 1.0


def test_the_prompt_comes_from_a_file_or_standard_input(pair: tuple[Path, Path], tmp_path: Path) -> None:
    expected = run(pair, "hello", "-n", "9").stdout
    (tmp_path / "prompt.txt").write_text("hello")
    assert run(pair, "-f", tmp_path / "prompt.txt", "-n", "9").stdout == expected
    assert run(pair, "-n", "9", stdin=b"hello").stdout == expected
    assert run(pair, "-", "-n", "9", stdin=b"hello").stdout == expected


def test_sampling_options_reach_the_sampler(pair: tuple[Path, Path]) -> None:
    hot = ["hello", "-n", "30", "--temp", "1.5", "--top-k", "0", "--top-p", "1", "--min-p", "0"]
    assert plain(pair, *hot, "--seed", "1").stdout == plain(pair, *hot, "--seed", "1").stdout
    assert plain(pair, *hot, "--seed", "1").stdout != plain(pair, *hot, "--seed", "2").stdout
    greedy = plain(pair, "hello", "-n", "30").stdout
    assert plain(pair, *hot, "--seed", "1").stdout != greedy
    for narrow in (["--top-k", "1"], ["--top-p", "0.0001"], ["--min-p", "1"]):
        assert plain(pair, "hello", "-n", "30", "--temp", "1.5", *narrow).stdout == greedy
    assert plain(pair, "hello", "-n", "30", "--repeat-penalty", "5").stdout != greedy


@pytest.mark.parametrize(
    "options",
    [
        ["--frequency-penalty", "2", "--penalty-last-n", "-1"],
        ["--presence-penalty", "3"],
        ["--dry-multiplier", "4", "--dry-allowed-length", "1"],
        ["--typical-p", "0.3", "--temp", "1.2", "--seed", "4"],
        ["--xtc-probability", "1", "--xtc-threshold", "0.05", "--temp", "1.2", "--seed", "4"],
        ["--logit-bias", "27=+30"],
    ],
    ids=lambda value: value[0],
)
def test_every_sampling_option_changes_the_text_and_stays_lossless(
    pair: tuple[Path, Path], options: list[str]
) -> None:
    base = ["hello", "-n", "60", "--top-k", "0", "--top-p", "1", "--min-p", "0"]
    expected = plain(pair, *base, *options).stdout
    heat = ["--temp", "1.2", "--seed", "4"] if "--temp" in options else []
    assert expected != plain(pair, *base, *heat).stdout
    assert run(pair, *base, *options, "--accept", "match").stdout == expected


def test_a_banned_token_never_appears(pair: tuple[Path, Path]) -> None:
    said = set(plain(pair, "hello", "-n", "60", "--json").document["token_ids"])
    banned = sorted(said)[:3]
    bias = [word for token in banned for word in ("--logit-bias", f"{token}=-inf")]
    assert not set(run(pair, "hello", "-n", "60", "--json", *bias).document["token_ids"]) & set(banned)


def test_a_seed_is_reported_so_that_a_run_can_be_repeated(pair: tuple[Path, Path]) -> None:
    hot = ("hello", "-n", "30", "--temp", "1.5", "--json")
    first = run(pair, *hot).document
    assert run(pair, *hot, "--seed", first["seed"]).document["token_ids"] == first["token_ids"]


def test_stop_strings_end_the_answer_before_them(pair: tuple[Path, Path]) -> None:
    whole = plain(pair, "hello", "-n", "40").stdout
    stop = whole[7:10]
    result = run(pair, "hello", "-n", "40", "--stop", "not there", "--stop", stop, "--json")
    assert result.document["text"] == whole[: whole.index(stop)]
    assert result.document["finish_reason"] == "stop"


def test_characters_over_several_tokens_are_whole(pair: tuple[Path, Path]) -> None:
    def say(tokens: list[int]) -> ToyBackend:
        logits = scripted_logits(tokens)
        logits.prompt = 2  # type: ignore[attr-defined]
        return ToyBackend(target_logits=logits, draft_logits=logits)

    tokens = [8, 28, 29, 27, 30, 31, 32]
    result = run(pair, "hi", backend=say(tokens))
    assert result.stdout == b"".join(PIECES[token] for token in tokens).decode()


def test_show_accepted_marks_what_the_draft_wrote(pair: tuple[Path, Path]) -> None:
    result = run(pair, "hello", "-n", "20", "--show-accepted")
    assert result.stdout.replace("«", "").replace("»", "") == run(pair, "hello", "-n", "20").stdout
    assert result.stdout.count("«") == result.stdout.count("»") > 0
    assert "«" not in plain(pair, "hello", "-n", "20", "--show-accepted").stdout


def test_a_target_that_cannot_roll_back_runs_plain_and_says_so(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS, target_options={"rolls_back": False})
    result = run(pair, "hello", "-n", "20", backend=backend)
    assert result.code == 0
    assert result.stdout == plain(pair, "hello", "-n", "20").stdout
    assert "speculation: off (the target's memory cannot drop rejected tokens)" in result.stderr
    assert len(backend.models) == 1  # the draft was not even loaded


def test_a_draft_that_cannot_roll_back_is_refused(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS, draft_options={"rolls_back": False})
    run(pair, "hello", backend=backend).refused(1, "draft.gguf cannot draft", "hint: ")
    assert all(model.closed for model in backend.models)


def test_a_draft_shorter_than_the_text_stops_drafting_and_says_so(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS, draft_options={"n_ctx_train": 16})
    result = run(pair, "hello", "-n", "60", backend=backend)
    assert result.stdout == plain(pair, "hello", "-n", "60").stdout
    assert "the draft model's context of 16 tokens is full" in result.stderr


def test_a_draft_that_never_drafted_is_a_warning(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS, draft_options={"n_ctx_train": 4})
    result = run(pair, "hello", "-n", "20", backend=backend)
    assert "warning: the draft model was loaded but drafted nothing" in result.stderr


def test_a_context_beyond_training_only_by_request(pair: tuple[Path, Path]) -> None:
    short = {"n_ctx_train": 64}
    backend = ToyBackend(target_logits=WORDS, target_options=short)
    assert run(pair, "hello", "-n", "500", "--json", backend=backend).document["finish_reason"] == "context"
    assert backend.models[0].contexts[0].n_ctx == 64
    backend = ToyBackend(target_logits=WORDS, target_options=short)
    result = run(pair, "hello", "-n", "9", "--ctx", "100", backend=backend)
    assert "--ctx 100 is more than the 64 tokens" in result.stderr
    assert backend.models[0].contexts[0].n_ctx == 100


def test_verbose_prints_every_setting(pair: tuple[Path, Path]) -> None:
    stderr = run(pair, "hello", "-n", "5", "-v", "--draft-max", "3").stderr
    for setting in ("draft_max=3", "temperature=0.0", "kv_type=f16", "max_tokens=5", "seed="):
        assert setting in stderr


def test_draft_max_bounds_every_draft(pair: tuple[Path, Path]) -> None:
    document = run(pair, "hello", "-n", "50", "--draft-max", "2", "--json").document
    assert len(document["speculation"]["accepted_by_position"]) == 2


def test_a_sampled_run_with_a_model_uses_rejection_and_says_so(pair: tuple[Path, Path]) -> None:
    document = run(pair, "hello", "-n", "30", "--temp", "1", "--json").document
    assert document["speculation"]["reason"] == "model, reject"


def test_auto_speculates_where_verifying_is_cheap(pair: tuple[Path, Path]) -> None:
    flat = {"decode_seconds": 1e-2, "token_seconds": 0.0}
    backend = ToyBackend(
        target_logits=WORDS,
        target_options={"costs": flat},
        draft_options={"costs": {"decode_seconds": 1e-4, "token_seconds": 0.0}},
    )
    result = run(pair, "hello", "-n", "120", "--drafter", "auto", "--json", backend=backend)
    speculation = result.document["speculation"]
    assert result.document["text"] == plain(pair, "hello", "-n", "120").stdout
    assert speculation["state"] == "on"
    assert speculation["mean_tokens_per_round"] > 1.5
    assert speculation["gain"] > 1.3
    assert "× over plain" in speculation["reason"]


def test_auto_is_the_default_and_stays_off_where_it_cannot_pay(pair: tuple[Path, Path]) -> None:
    dear = {"decode_seconds": 1e-3, "token_seconds": 1e-3}
    backend = ToyBackend(target_logits=WORDS, target_options={"costs": dear}, draft_options={"costs": dear})
    result = run_cli(
        *("run", "--target", pair[0], "--draft", pair[1], "hello", "-n", "120", "--json"),
        backend=lambda: backend,
    )
    speculation = result.document["speculation"]
    assert result.document["text"] == plain(pair, "hello", "-n", "120").stdout
    assert (speculation["state"], speculation["drafter"]) == ("auto-off", "auto")
    assert speculation["mean_tokens_per_round"] < 1.1
    assert "cannot pay here" in speculation["reason"]  # and which figures say so


def test_what_a_round_costs_is_measured_once_and_kept(pair: tuple[Path, Path], own_folders: Path) -> None:
    first, second = ToyBackend(target_logits=WORDS), ToyBackend(target_logits=WORDS)
    for backend in (first, second):
        run(pair, "hello", "-n", "5", "--drafter", "auto", backend=backend)
    decoded = [len(backend.models[0].contexts[0].decoded) for backend in (first, second)]
    assert decoded[1] < decoded[0] / 4
    assert len(list((own_folders / "cache" / "profiles").glob("*.json"))) == 1


BAD_OPTIONS: list[tuple[list[str], str]] = [
    (["--draft-max", "-1"], "--draft-max -1"),
    (["--draft-max", "0"], "--draft-max 0"),
    (["--ctx", "0"], "--ctx 0"),
    (["--ctx", "-5"], "--ctx -5"),
    (["--temp", "-1"], "temp"),
    (["--temp", "nan"], "temp"),
    (["--top-p", "0"], "top-p"),
    (["--min-p", "2"], "min-p"),
    (["--repeat-penalty", "0"], "repeat-penalty"),
    (["--threads", "0"], "--threads 0"),
    (["--typical-p", "0"], "--typical-p"),
    (["--top-k", "-2"], "--top-k"),
    (["--xtc-probability", "1.5"], "--xtc-probability"),
    (["--dry-multiplier", "-1"], "--dry-multiplier"),
    (["--frequency-penalty", "inf"], "--frequency-penalty"),
    (["--logit-bias", "5"], "TOKEN=X"),
    (["--logit-bias", "a=1"], "TOKEN=X"),
    (["--logit-bias", "-3=1"], "token -3"),
    (["--logit-bias", "999=1"], "token 999"),
    (["--logit-bias", "5=nan"], "token 5"),
    (["--gpu-layers", "-2"], "--gpu-layers -2"),
    (["--kv-type", "q3"], "--kv-type q3"),
    (["--flash-attn", "maybe"], "--flash-attn maybe"),
    (["--kv-type", "q8_0", "--flash-attn", "off"], "flash attention"),
    (["-n", "0"], "--max-tokens 0"),
    (["--stop", ""], "--stop"),
    (["--drafter", "magic"], "magic"),
    (["--drafter", "none"], "--draft has no use"),
    (["--drafter", "ngram"], "--draft has no use"),
    (["--pair", "demo"], "--pair"),
    (["--raw", "--system", "be kind"], "--system"),
    (["-v", "-q"], "-q"),
    (["--json", "--show-accepted"], "--show-accepted"),
    (["-f", "some-file"], "twice"),
    (["--no-such-option"], "--no-such-option"),
    (["--ctx", "many"], "--ctx"),
]


@pytest.mark.parametrize(("arguments", "word"), BAD_OPTIONS, ids=lambda value: " ".join(value))
def test_options_that_make_no_sense_are_one_line(
    pair: tuple[Path, Path], arguments: list[str], word: str
) -> None:
    run(pair, "hello", *arguments).refused(2, word)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--drafter", "none", "--draft-max", "3"], "--draft-max has no use"),
        (["--drafter", "ngram", "--draft-threads", "2"], "--draft-threads has no use"),
        (["--drafter", "model"], "needs a --draft"),
    ],
)
def test_options_without_a_use_are_refused(pair: tuple[Path, Path], arguments: list[str], word: str) -> None:
    run_cli("run", "--target", pair[0], "hello", *arguments, backend=ToyBackend).refused(2, word)


def test_draft_without_target_and_nothing_at_all(pair: tuple[Path, Path]) -> None:
    run_cli("run", "--draft", pair[1], "hello", backend=ToyBackend).refused(2, "--target")


def test_no_model_named_and_none_here_says_which_to_pull() -> None:
    result = run_cli("run", "hello", backend=ToyBackend)
    result.refused(1, "no model named", "specdec pull", "--pair demo")


def test_prompts_that_are_none(pair: tuple[Path, Path], tmp_path: Path) -> None:
    run(pair, "").refused(2, "empty")
    run(pair, "  \n ").refused(2, "empty")
    run(pair, stdin=b"").refused(2, "empty")
    run(pair, stdin=b"abc\xff\xfe").refused(1, "standard input is not UTF-8", "offset 3")
    (tmp_path / "bad").write_bytes(b"\x80")
    run(pair, "-f", tmp_path / "bad").refused(1, "not UTF-8")
    run(pair, "-f", tmp_path / "missing").refused(1, "missing")
    run(pair, "-f", tmp_path).refused(1, "cannot be read")


def test_a_prompt_longer_than_the_context_names_both_numbers(pair: tuple[Path, Path]) -> None:
    run(pair, "word " * 100_000, "--ctx", "512").refused(1, "500000 tokens", "context of 512")


def test_an_unknown_pair_suggests_the_nearest() -> None:
    run_cli("run", "--pair", "dem", "hello", backend=ToyBackend).refused(1, "'dem'", "demo")


def test_a_drafter_that_breaks_is_a_bug_and_exits_3(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_tokens: object) -> Any:
        raise RuntimeError("the draft broke")

    def after_a_while(tokens: list[int]) -> Any:
        return broken(tokens) if len(tokens) > 12 else noisy(WORDS)(tokens)

    backend = ToyBackend(target_logits=WORDS, draft_logits=after_a_while)
    result = run(pair, "hello", "-n", "30", backend=backend)
    assert result.code == 3
    assert "the draft broke" in result.stderr
    assert "bug in specdec" in result.stderr
    assert result.stdout  # what was generated until then is there
    assert all(model.closed for model in backend.models)
