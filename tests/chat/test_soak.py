"""Sixty turns in one sitting: the caches hold what they must after each of them, whoever drafts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specdec_cli.chat.chat import Chat
from tests.support.chats import WORDS, chat, contexts, saved
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend

TURNS = 60


@pytest.mark.parametrize("drafter", ["model", "ngram", "auto", "none"])
def test_sixty_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drafter: str) -> None:
    target = write_tiny_model(tmp_path / "target.gguf")
    draft = write_tiny_model(tmp_path / "draft.gguf") if drafter in ("model", "auto") else None
    backend = ToyBackend(target_logits=WORDS)
    answers: list[int] = []
    take = Chat._take

    def checking(running: Chat, *answer: Any) -> None:
        session = running.require_loaded().engine.session
        session.check()
        for context in contexts(backend):
            common = min(context.length, len(session.committed))
            # A draft model that is switched off keeps what it knew until it is asked again.
            if context.max_rows > 1 or session.drafter.name != "none":
                assert context.tokens[:common] == session.committed[:common]
        answers.append(session.target.length)
        take(running, *answer)

    lines = [f"message {'abcdefghij'[number % 10] * (number % 7 + 1)}" for number in range(TURNS)]
    lines[20:20] = ["/retry", "/undo", "/spec off"]
    lines[30:30] = ["/spec on", "/set temp 0.9", "/edit something else"]
    lines[45:45] = ["/set temp 0", "/system be short"]
    options = ("-n", "24", "--ctx", "512", "--when-full", "drop", "--drafter", drafter)
    monkeypatch.setattr(Chat, "_take", checking)
    result = chat((target, draft), *lines, options=options, backend=backend)
    assert result.code == 0, result.stderr
    conversation = saved().conversation
    assert len(conversation.turns) == TURNS - 1
    assert all(turn.answer for turn in conversation.turns)
    assert conversation.dropped > 20
    assert len(answers) == TURNS + 2  # one retried, one edited
