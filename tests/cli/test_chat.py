"""`specdec chat` without a terminal: lines in, answers out; every command; every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdec_cli.chat.folders import sessions_dir
from tests.support.chats import WORDS, ScriptedBackend, chat, contexts, saved
from tests.support.cli import run_cli
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_tiny_model(tmp_path / "target.gguf"), write_tiny_model(tmp_path / "draft.gguf")


Pair = tuple[Path, Path]


def test_a_line_is_answered_and_the_program_ends(pair: Pair) -> None:
    result = chat(pair, "hello")
    assert result.code == 0
    answer = saved().conversation.turns[0].answer
    assert answer
    assert result.stdout == answer + "\n"
    assert " tok/s" in result.stderr
    assert "context " in result.stderr


def test_every_turn_is_in_the_file(pair: Pair) -> None:
    chat(pair, "hello", "", "   ", "and more", options=("-n", "5", "--system", "be kind"))
    conversation = saved().conversation
    assert [turn.user for turn in conversation.turns] == ["hello", "and more"]
    assert all(turn.answer and turn.finish_reason for turn in conversation.turns)
    assert conversation.system == "be kind"
    assert saved().models == {"target": str(pair[0]), "draft": str(pair[1])}


def test_what_is_said_is_what_plain_decoding_says(pair: Pair) -> None:
    lines = ("one", "two", "three")
    outputs = {
        name: chat(pair, *lines, options=("-n", "30", "--drafter", name)).stdout for name in ("model", "auto")
    }
    plain = run_cli(
        "chat", "--target", pair[0], "-n", "30", "--drafter", "none",
        backend=lambda: ToyBackend(target_logits=WORDS), stdin="\n".join(lines).encode(),
    )  # fmt: skip
    assert set(outputs.values()) == {plain.stdout}


def test_the_next_turn_decodes_only_what_is_new(pair: Pair) -> None:
    backend = ToyBackend(target_logits=WORDS)
    chat(pair, "a" * 50, "b", "c", backend=backend, options=("-n", "4", "--drafter", "model"))
    for context in contexts(backend):
        assert context.decoded.count(1) < 60  # the letter a, once each


def test_several_lines_between_triple_quotes_are_one_message(pair: Pair) -> None:
    chat(pair, '"""', "first", "", "  second", '"""', '"""third"""', '"""never', "closed")
    assert [turn.user for turn in saved().conversation.turns] == [
        "first\n\n  second",
        "third",
        '"""never\nclosed',
    ]


def test_the_last_conversation_goes_on(pair: Pair) -> None:
    chat(pair, "hello")
    result = chat(pair, "more", options=("-n", "5", "--resume"))
    assert result.code == 0
    assert [turn.user for turn in saved().conversation.turns] == ["hello", "more"]
    assert "1 turn, going on" in result.stderr


def test_a_resumed_chat_says_what_the_chat_would_have_said(pair: Pair) -> None:
    whole = chat(pair, "hello", "more").stdout
    first = chat(pair, "hello", options=("-n", "12", "--session", "cut")).stdout
    assert first + chat(pair, "more", options=("-n", "12", "--session", "cut")).stdout == whole


def test_models_and_settings_come_back_with_the_session(pair: Pair) -> None:
    chat(pair, "/set temp 0.7", "/set draft-max 3", "/set ctx 128", "/spec off", "hello")
    result = run_cli(
        "chat", "--resume", "-n", "5", backend=lambda: ToyBackend(target_logits=WORDS),
        stdin=b"/set temp\n/set draft-max\n/set ctx\n/spec\n",
    )  # fmt: skip
    assert result.code == 0
    for line in ("temp 0.7", "draft-max 3", "ctx 128", "speculation: off (/spec off)"):
        assert line in result.stderr
    explicit = chat(pair, "/set temp", options=("--resume", "--temp", "0.1"))
    assert "temp 0.1" in explicit.stderr


def test_resume_without_anything_to_resume(pair: Pair) -> None:
    result = chat(pair, "hello", options=("-n", "5", "--resume"))
    assert result.code == 0
    assert "there is no earlier conversation" in result.stderr


def test_the_list_of_sessions(pair: Pair) -> None:
    assert "no conversation has been saved" in run_cli("chat", "--list").stderr
    chat(pair, "what is it", options=("-n", "5", "--session", "work"))
    result = run_cli("chat", "--list")
    assert result.code == 0
    assert "work" in result.stdout
    assert "1 turn · what is it" in result.stdout


def test_a_damaged_session_is_kept_and_a_new_one_begins(pair: Pair) -> None:
    sessions_dir().mkdir(parents=True)
    (sessions_dir() / "work.json").write_text("{ torn")
    result = chat(pair, "hello", options=("-n", "5", "--session", "work"))
    assert result.code == 0
    assert "session work is damaged; it was kept as work.json.damaged-" in result.stderr
    assert len(saved("work").conversation.turns) == 1
    assert len(list(sessions_dir().glob("work.json.damaged-*"))) == 1


def test_an_unwritable_folder_is_said_once_and_the_chat_goes_on(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPECDEC_STATE", str(tmp_path / "file"))
    result = chat(pair, "hello", "more")
    assert result.stderr.count("cannot be saved") == 1
    assert result.stderr.count("tok/s") == 2


def test_everything_is_closed(pair: Pair) -> None:
    backend = ToyBackend(target_logits=WORDS)
    chat(pair, "hello", "/spec off", "more", "/set draft-max 20", "/spec on", "more", backend=backend)
    assert len(backend.models) == 4
    assert all(model.closed for model in backend.models)
    assert all(context.closed for context in contexts(backend))


def test_stopping_the_answer_at_a_length_is_said(pair: Pair) -> None:
    assert "cut at 3 tokens" in chat(pair, "hello", options=("-n", "3")).stderr


def test_a_draft_whose_context_is_full_is_told_once(pair: Pair) -> None:
    backend = ToyBackend(target_logits=WORDS, draft_options={"n_ctx_train": 30})
    result = chat(pair, "one", "two", "three", options=("-n", "12", "--drafter", "model"), backend=backend)
    assert result.stderr.count("the draft model's context of 30 tokens is full") == 1
    assert result.stdout == chat(pair, "one", "two", "three").stdout


def test_an_empty_answer_is_said(pair: Pair) -> None:
    result = chat(pair, "hello", "more", options=(), backend=ScriptedBackend(["", "fine"]))
    assert "the model answered nothing" in result.stderr
    assert result.stdout == "\nfine\n"


# Commands


def test_retry_edit_undo_and_clear(pair: Pair) -> None:
    result = chat(pair, "one", "two", "/retry", "/edit three", "/undo", "four", "/clear", "five")
    assert "temperature 0 always gives the same answer" in result.stderr
    chats = sorted(sessions_dir().glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    assert [[turn.user for turn in saved(path.stem).conversation.turns] for path in chats] == [
        ["one", "four"],
        ["five"],
    ]
    assert f"/load {chats[0].stem}" in result.stderr


def test_retry_takes_other_random_numbers_when_sampling(pair: Pair) -> None:
    options = ("-n", "20", "--temp", "1.5", "--seed", "3")
    once = chat(pair, "one", options=options).stdout
    twice = chat(pair, "one", "/retry", options=options).stdout
    assert twice.startswith(once)
    assert twice != once + once
    assert twice == chat(pair, "one", "/retry", options=options).stdout


def test_system_prompt(pair: Pair) -> None:
    result = chat(pair, "/system", "/system be kind", "hello", "/system -", "/system")
    assert "system prompt: none" in result.stderr
    assert "the system prompt is set" in result.stderr
    assert saved().conversation.system is None


def test_set_shows_and_changes_options(pair: Pair) -> None:
    result = chat(
        pair, "/set", "/set temp 0.5", "/set top_k=7", "/set max-tokens 4", "/set stop ab,c\\n", "hello"
    )
    for line in ("temp 0.5", "top-k 7", "max-tokens 4", "stop ab,c\\n"):
        assert f"\n{line}\n" in result.stderr
    assert "repeat-penalty 1" in result.stdout
    assert saved().settings == {"temp": "0.5", "top-k": "7", "max-tokens": "4", "stop": "ab,c\\n"}


def test_a_logit_bias_holds_for_the_answers_that_follow(pair: Pair) -> None:
    never = ",".join(f"{token}=-inf" for token in range(1, 14))  # a to m
    result = chat(pair, "hello", f"/set logit-bias {never}", "more", "/set logit-bias none")
    before, after = (turn.answer for turn in saved().conversation.turns)
    assert set(before) & set("abcdefghijklm")
    assert after
    assert not set(after) & set("abcdefghijklm")
    assert f"logit-bias {never}\n" in result.stderr
    assert saved().settings == {"logit-bias": "none"}


def test_longer_drafts_load_new_contexts(pair: Pair) -> None:
    backend = ToyBackend(target_logits=WORDS)
    result = chat(pair, "/set draft-max 30", "/set draft-max 2", "hello", backend=backend)
    assert "draft-max 30\n" in result.stderr
    assert "draft-max 2\n" in result.stderr
    assert [context.max_rows for context in contexts(backend) if context.max_rows > 1][-1] == 31


def test_spec_switches_who_drafts(pair: Pair) -> None:
    options = ("-n", "40", "--drafter", "model")
    result = chat(pair, "/spec", "/spec off", "hello", "/spec on", "more", "/spec auto", options=options)
    assert "speculation: on (model, match)" in result.stderr
    assert "speculation: off (/spec off)" in result.stderr
    assert "speculation: auto" in result.stderr or "(auto, match" in result.stderr
    first, second = saved().conversation.turns
    assert first.figures.drafted == 0
    assert second.figures.drafted > 0
    assert "accepted" in result.stderr


def test_a_gain_is_stated_once_plain_decoding_is_known(pair: Pair) -> None:
    options = ("-n", "60", "--drafter", "model")
    result = chat(pair, "hello", "/spec off", "more", "/spec on", "again", options=options)
    first, _, third = saved().conversation.turns
    assert first.figures.gain is None
    assert third.figures.gain is not None
    assert "× plain" in result.stderr


def test_stats_and_check(pair: Pair) -> None:
    result = chat(pair, "hello", "/stats", "/check", options=("-n", "30", "--drafter", "model"))
    assert result.code == 0
    for word in ("generated", "drafted", "to first token", "context", "models", "vocabulary", "target.gguf"):
        assert word in result.stdout, word


def test_models_are_switched_and_the_conversation_stays(pair: Pair, tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "target other.gguf")
    result = chat(pair, "hello", f'/model "{other}"', "more", "/model")
    assert result.code == 0
    assert [turn.user for turn in saved().conversation.turns] == ["hello", "more"]
    assert "the conversation goes on" in result.stderr
    assert saved().models == {"target": str(other)}
    assert [turn.model for turn in saved().conversation.turns] == ["target + draft", "target other"]


def test_a_switch_that_fails_keeps_what_is_loaded(pair: Pair, tmp_path: Path) -> None:
    result = chat(pair, "/model missing.gguf", "/pair dem", f"/model {tmp_path}", "hello")
    assert result.code == 1
    assert "missing.gguf" in result.stderr
    assert "did you mean demo?" in result.stderr
    assert saved().conversation.turns[0].model == "target + draft"


def test_a_load_that_fails_goes_back(pair: Pair, tmp_path: Path) -> None:
    broken = write_tiny_model(tmp_path / "target-broken.gguf")

    class Breaking(ToyBackend):
        def load(self, path, settings, progress=None):  # type: ignore[no-untyped-def]
            if path == broken:
                from specdec_cli.errors import SpecdecError

                raise SpecdecError(f"{path.name} cannot be loaded: no reason", code="file.load")
            return super().load(path, settings, progress)

    backend = Breaking(target_logits=WORDS)
    result = chat(pair, "hello", f"/model {broken}", "more", backend=backend)
    assert "target-broken.gguf cannot be loaded" in result.stderr
    assert "going back to the models of before" in result.stderr
    assert len(saved().conversation.turns) == 2
    assert all(model.closed for model in backend.models)


def test_save_and_load(pair: Pair) -> None:
    result = chat(
        pair, "hello", "/save work", "more", "/save", "/clear", "other", "/load work", "/load nowhere"
    )
    assert len(saved("work").conversation.turns) == 2
    assert "saved as work" in result.stderr
    assert "session work: 2 turns" in result.stderr
    assert "there is no session called 'nowhere'" in result.stderr
    assert "there is a session called work already" in chat(pair, "hi", "/save work").stderr


def test_export(pair: Pair, tmp_path: Path) -> None:
    markdown, document = tmp_path / "a chat.md", tmp_path / "chat.json"
    result = chat(
        pair, "hello", f"/export md {markdown}", f"/export json '{document}'", f"/export md {markdown}"
    )
    assert "## User\n\nhello\n" in markdown.read_text(encoding="utf-8")
    assert json.loads(document.read_text(encoding="utf-8"))["turns"][0]["user"] == "hello"
    assert "exists already" in result.stderr


def test_a_file_goes_out_with_the_next_message(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("a ``` fence", encoding="utf-8")
    chat(pair, f"/file {tmp_path / 'notes.txt'}", "what is it", "and now")
    first, second = saved().conversation.turns
    assert first.user == "File `notes.txt`:\n````\na ``` fence\n````\n\nwhat is it"
    assert second.user == "and now"


def test_show_and_copy(pair: Pair) -> None:
    result = chat(
        pair, "/show", "/show accepted", "hello", "/show history", "/copy", "/copy code",
        options=("-n", "40", "--drafter", "model"),
    )  # fmt: skip
    assert "thinking on · accepted off · figures on · markdown off" in result.stderr
    assert "accepted on" in result.stderr
    assert "«" in result.stdout
    assert "> hello" in result.stdout
    assert "there is no clipboard here" in result.stderr
    assert "there is no code block" in result.stderr


def test_help_names_every_command(pair: Pair) -> None:
    from specdec_cli.chat.commands.table import COMMANDS

    result = chat(pair, "/help", "/help set")
    assert len(COMMANDS) == 19
    for name in COMMANDS:
        assert f"/{name}" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_exit_leaves_and_what_follows_is_not_read(pair: Pair) -> None:
    assert chat(pair, "hello", "/exit", "more").code == 0
    assert len(saved().conversation.turns) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/set temp abc", "temp cannot be 'abc': not a number"),
        ("/set logit-bias 42", "logit-bias cannot be '42': not TOKEN=X"),
        ("/set logit-bias 99999999=1", "not in the vocabulary"),
        ("/set top-k 1.5", "top-k cannot be '1.5': not a whole number"),
        ("/set temp -1", "--temp is -1"),
        ("/set tmp 1", "did you mean temp?"),
        ("/set drafter magic", "one of auto, model"),
        ("/set ctx 2", "--ctx 2"),
        ("/set max-tokens 0", "at least 1"),
        ("/set kv-type q3", "kv-type cannot be 'q3'"),
        ("/retrry", "did you mean /retry?"),
        ("/xyzzy", "/help lists them"),
        ("/retry", "nothing to answer again"),
        ("/undo", "nothing to undo"),
        ("/edit", "no message to edit"),
        ("/copy", "no answer to copy"),
        ("/file", "needs a path"),
        ("/file nowhere.txt", "cannot be read"),
        ("/spec maybe", "on, off or auto"),
        ("/export pdf", "cannot write 'pdf'"),
        ("/save ../x", "cannot be a session's name"),
        ("/load", "needs a session's name"),
        ("/show me", "knows no 'me'"),
        ("/exit now", "takes nothing"),
        ('/model "open', "a quote is not closed"),
        ("/model a b c", "at most one draft"),
    ],
)
def test_a_bad_line_is_one_error_and_the_chat_goes_on(pair: Pair, line: str, words: str) -> None:
    result = chat(pair, line, "hello")
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.count("error: ") == 1
    assert result.code == 1
    assert len(saved().conversation.turns) == 1


def test_what_only_looks_like_a_command_is_a_message(pair: Pair) -> None:
    chat(pair, "/etc/hosts what is it", " /help", "//", "1/2")
    assert [turn.user for turn in saved().conversation.turns] == [
        "/etc/hosts what is it",
        "/help",
        "//",
        "1/2",
    ]


def test_binary_empty_and_large_files(pair: Pair, tmp_path: Path) -> None:
    files = {"binary": b"\x00\x01abc", "latin": b"caf\xe9", "empty": b" \n", "huge": b"a" * (17 << 20)}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    result = chat(pair, *(f"/file {tmp_path / name}" for name in files), f"/file {tmp_path}", "hello")
    for words in ("looks binary", "no UTF-8 text", "is empty", "larger than 16 MiB", "cannot be read"):
        assert words in result.stderr
    assert saved().conversation.turns[0].user == "hello"


def test_a_message_of_ten_megabytes(pair: Pair) -> None:
    result = chat(pair, "a" * 10_000_000, "a" * 3000, "hello", options=("-n", "5", "--ctx", "1024"))
    assert "10,000,000 characters" in result.stderr
    assert "takes 3" in result.stderr  # tokens: that one was counted
    assert result.code == 1
    assert [turn.user for turn in saved().conversation.turns] == ["hello"]


def test_input_that_is_no_text(pair: Pair) -> None:
    run = run_cli(
        "chat", "--target", pair[0], "-n", "5",
        backend=lambda: ToyBackend(target_logits=WORDS), stdin=b"caf\xe9 \xff\x00\nhello\r\n",
    )  # fmt: skip
    assert run.code == 0
    assert [turn.user for turn in saved().conversation.turns] == ["caf� �\x00", "hello"]


def test_a_model_file_that_changes_between_turns(pair: Pair, tmp_path: Path) -> None:
    class Vanishing(ToyBackend):
        def load(self, path, settings, progress=None):  # type: ignore[no-untyped-def]
            model = super().load(path, settings, progress)
            logits, counted = model.logits_after, []

            def after(tokens):  # type: ignore[no-untyped-def]
                counted.append(1)
                if len(counted) == 9 and path == pair[0]:
                    path.unlink()
                if len(counted) == 15 and path == pair[0]:
                    path.write_bytes(b"short")
                return logits(tokens)

            model.logits_after = after
            return model

    result = run_cli(
        "chat", "--target", pair[0], "-n", "10", "--drafter", "none",
        backend=lambda: Vanishing(target_logits=WORDS), stdin=b"one\ntwo\nthree\nfour\n",
    )  # fmt: skip
    assert result.stderr.count("is gone from the disk") == 1
    assert result.stderr.count("was changed on disk since it was loaded") == 2
    assert [turn.user for turn in saved().conversation.turns] == ["one", "two"]


def test_a_decode_that_fails_leaves_the_chat_alive(pair: Pair) -> None:
    from specdec_cli.errors import SpecdecError

    failing = [0]

    def after(tokens):  # type: ignore[no-untyped-def]
        failing[0] += 1
        if 15 <= failing[0] <= 16:
            raise SpecdecError("llama.cpp could not decode: native status -3")
        return WORDS(tokens)

    result = run_cli(
        "chat", "--target", pair[0], "-n", "10", "--drafter", "none",
        backend=lambda: ToyBackend(target_logits=after), stdin=b"one\ntwo\n/retry\n/retry\n",
    )  # fmt: skip
    assert "native status -3" in result.stderr
    assert result.code == 1
    assert [bool(turn.answer) for turn in saved().conversation.turns] == [True, True]


# The context


def test_a_full_context_is_never_shifted_silently(pair: Pair) -> None:
    options = ("-n", "40", "--ctx", "160")
    lines = [f"question number {number}" for number in "abcdefgh"]
    stopped = chat(pair, *lines, options=options)
    assert stopped.code == 1
    assert "% full" in stopped.stderr
    assert "the context is full" in stopped.stderr
    assert "--when-full drop" in stopped.stderr
    assert saved().conversation.dropped == 0


@pytest.mark.parametrize("how", ["drop", "summarise"])
def test_a_full_context_leaves_out_the_oldest_turns(pair: Pair, how: str) -> None:
    options = ("-n", "100", "--ctx", "900", "--when-full", how, "--system", "remember the name")
    lines = [f"question number {number}" for number in "abcdefghijkl"]
    result = chat(pair, *lines, "/stats", options=options)
    conversation = saved().conversation
    assert result.code == 0, result.stderr
    assert len(conversation.turns) == 12
    assert conversation.dropped > 0
    assert "the session file keeps them" in result.stderr
    assert bool(conversation.summary) == (how == "summarise")
    assert conversation.system == "remember the name"
    assert "not sent any more" in result.stdout


def test_stop_stops(pair: Pair) -> None:
    options = ("-n", "60", "--ctx", "128", "--when-full", "stop")
    result = chat(pair, "one", "two", "three", options=options)
    assert "not sent" in result.stderr
    assert len(saved().conversation.turns) < 3


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--resume", "--session", "a"], "give one of them"),
        (["--session", "a/b"], "cannot be a session's name"),
        (["--when-full", "explode"], "--when-full explode"),
        (["--temp", "-1"], "--temp"),
        (["-n", "0"], "--max-tokens 0"),
        (["--pair", "demo"], "--pair"),
    ],
)
def test_options_that_make_no_sense(pair: Pair, arguments: list[str], word: str) -> None:
    result = run_cli("chat", "--target", pair[0], *arguments, backend=ToyBackend, stdin=b"hello")
    result.refused(2, word)


SCRIPT = ["<think>\nlet me see\n</think>\n\n**yes**", "no"]


def test_thinking_is_shown_or_folded_and_kept_with_the_turn(pair: Pair) -> None:
    shown = chat(
        pair, "is it", "/show thinking", "sure", options=(), backend=ScriptedBackend(SCRIPT + SCRIPT)
    )
    assert shown.stdout == "<think>\nlet me see\n</think>\n\n**yes**\nno\n"
    assert saved().conversation.turns[0].answer == SCRIPT[0]
    folded = chat(
        pair, "/show thinking", "is it", options=("--session", "folded"), backend=ScriptedBackend(SCRIPT)
    )
    assert folded.stdout == "**yes**\n"
    assert saved("folded").conversation.turns[0].answer == SCRIPT[0]


def test_copies_and_exports_leave_thinking_out(pair: Pair, tmp_path: Path) -> None:
    chat(pair, "is it", f"/export md {tmp_path / 'a.md'}", options=(), backend=ScriptedBackend(SCRIPT))
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    assert "**yes**" in text
    assert "let me see" not in text


def test_a_summary_is_written_by_the_model_and_sent_from_then_on(pair: Pair) -> None:
    backend = ScriptedBackend(["x" * 200, "y" * 200, "they met", "good"])
    result = chat(
        pair, "one", "two", "three", options=("--ctx", "480", "--when-full", "summarise"), backend=backend
    )
    assert result.code == 0, result.stderr
    assert "summary: they met" in result.stderr
    conversation = saved().conversation
    assert (conversation.dropped, conversation.summary) == (1, "they met")
    text = backend.text.spell(backend.models[0].contexts[0].tokens)
    assert "Summary of the conversation so far:\nthey met<|im_end|>" in text
    assert "one" not in text
    assert result.stdout.splitlines()[-1] == "good"
