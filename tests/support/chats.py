"""Chats over the toy model, through the real command line."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from specdec_cli.chat.folders import sessions_dir
from specdec_cli.chat.session_document import SavedChat
from specdec_cli.chat.session_files import SessionFile
from specdec_cli.settings import ContextSettings
from tests.support.byte_text import ByteText
from tests.support.cli import CliResult, run_cli
from tests.support.toy import ToyBackend, ToyContext, ToyModel, table_logits

WORDS = table_logits(7, end_bias=-2.0)
SHORT = ("-n", "12")


def chat(
    pair: tuple[Path, Path | None],
    *lines: str,
    options: tuple[object, ...] = SHORT,
    backend: ToyBackend | None = None,
) -> CliResult:
    """Type these lines into a chat without a terminal; the pair may lack a draft."""
    chosen = backend or ToyBackend(target_logits=WORDS)
    return run_cli(
        "chat",
        *("--target", pair[0]),
        *(("--draft", pair[1]) if pair[1] is not None else ()),
        *options,
        backend=lambda: chosen,
        stdin="\n".join(lines).encode(),
    )


def saved(name: str | None = None) -> SavedChat:
    """The session of this name, or the only one there is."""
    if name is None:
        (path,) = sessions_dir().glob("*.json")
        name = path.stem
    found = SessionFile(sessions_dir(), name).load()
    assert found is not None
    return found


def contexts(backend: ToyBackend) -> list[ToyContext]:
    return [context for model in backend.models for context in model.contexts]


CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass
class ScriptedModel(ToyModel):
    """A toy model with a chat template and a vocabulary of bytes."""

    chat_template: str | None = CHATML
    text: ByteText = field(default_factory=lambda: ByteText(("<|im_end|>", "<|im_start|>")))  # type: ignore[assignment]

    def new_context(self, settings: ContextSettings, max_rows: int) -> ToyContext:
        context = super().new_context(settings, max_rows)
        context.n_vocab = self.text.n_vocab
        return context


class ScriptedBackend(ToyBackend):
    """Says these answers, one for each time it is asked. `delay`: seconds per decoded token."""

    def __init__(self, answers: Sequence[str], delay: float = 0.0) -> None:
        super().__init__()
        self.text = ByteText(("<|im_end|>", "<|im_start|>"))
        self._answers = [self.text.bytes_of(answer) for answer in answers]
        self._header = self.text.tokenize("assistant\n", add_special=False, parse_special=False)
        self._delay = delay
        self._asked: list[tuple[int, ...]] = []

    def load(
        self, path: Path, settings: ContextSettings, progress: Callable[[float], bool] | None = None
    ) -> ToyModel:
        if progress is not None and not progress(1.0):
            raise KeyboardInterrupt
        model = ScriptedModel(path, self._after)
        self.models.append(model)
        return model

    def _after(self, tokens: Sequence[int]) -> np.ndarray:
        time.sleep(self._delay)
        row = np.zeros(self.text.n_vocab, dtype=np.float32)
        starts = [index for index, token in enumerate(tokens) if token == 1]
        if not starts:
            return row
        begin = starts[-1] + 1 + len(self._header)
        prompt = tuple(tokens[:begin])
        if prompt not in self._asked:
            self._asked.append(prompt)
        script = self._answers[self._asked.index(prompt) % len(self._answers)]
        said = len(tokens) - begin
        row[script[said] if said < len(script) else 0] = 10.0
        return row
