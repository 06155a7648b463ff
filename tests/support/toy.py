"""A toy model: a seeded table of logits over a few tokens, behind the same contracts as llama.cpp.

`ToyBackend` goes in through the real door (`Environment.open_backend`), so the real command line runs on it.
A toy "file" is a tiny GGUF; which table it stands for follows from its name: `target*` or `draft*`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from specdec_cli.draft.values import Budget, Draft, DrafterNeeds, Outcome
from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import BackendDevice, Logits
from specdec_cli.settings import ContextSettings
from tests.support.text_constraint import OneOfTexts

# Pieces that try the text code: a stop word in two tokens, an emoji and a Korean syllable torn apart, a long one.
PIECES: tuple[bytes, ...] = (
    b"",  # 0: end of generation
    *(bytes([letter]) for letter in range(ord("a"), ord("z") + 1)),  # 1 … 26
    b" ",  # 27
    "\N{GRINNING FACE}".encode()[:2],  # 28
    "\N{GRINNING FACE}".encode()[2:],  # 29
    "\N{HANGUL SYLLABLE HAN}".encode()[:1],  # 30
    "\N{HANGUL SYLLABLE HAN}".encode()[1:],  # 31
    b"a token of more than thirty-two bytes, whole",  # 32
    b"STO",  # 33
    b"P",  # 34
)
N_VOCAB = len(PIECES)
END = 0


class ToyText:
    """One token per known character; everything else is a space."""

    n_vocab = N_VOCAB

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return [ord(letter) - ord("a") + 1 if "a" <= letter <= "z" else 27 for letter in text.lower()]

    def piece(self, token: int) -> bytes:
        return PIECES[token]

    def is_end_of_generation(self, token: int) -> bool:
        return token == END


def table_logits(seed: int, end_bias: float = -1.0) -> Callable[[Sequence[int]], np.ndarray]:
    """Logits from the last three tokens, by a seeded hash: the same text gives the same row."""

    def logits(tokens: Sequence[int]) -> np.ndarray:
        key = zlib.crc32(np.asarray(tokens[-3:], dtype=np.int64).tobytes(), seed)
        row = np.random.default_rng(key).normal(0.0, 2.0, N_VOCAB).astype(np.float32)
        row[END] += end_bias
        return row

    return logits


def scripted_logits(text: Sequence[int]) -> Callable[[Sequence[int]], np.ndarray]:
    """A model that says exactly `text`, whatever came before it in the prompt, then ends."""
    script = list(text)

    def logits(tokens: Sequence[int]) -> np.ndarray:
        row = np.zeros(N_VOCAB, dtype=np.float32)
        said = len(tokens) - logits.prompt  # type: ignore[attr-defined]
        row[script[said] if 0 <= said < len(script) else END] = 10.0
        return row

    logits.prompt = 0  # type: ignore[attr-defined]
    return logits


@dataclass
class ToyContext:
    """A KV cache that is a list of tokens, and counts what it was asked to decode."""

    logits_after: Callable[[Sequence[int]], np.ndarray]
    n_ctx: int = 256
    n_ctx_train: int = 4096
    max_rows: int = 64
    rolls_back: bool = True
    n_vocab: int = N_VOCAB
    tokens: list[int] = field(default_factory=list)
    decoded: list[int] = field(default_factory=list)
    seconds: float = 0.0
    closed: bool = False
    interrupted: Callable[[], bool] | None = None
    decode_seconds: float = 0.0
    """What one decode costs on this context's own clock, and what each of its tokens adds."""
    token_seconds: float = 1e-6

    @property
    def length(self) -> int:
        return len(self.tokens)

    def decode(self, tokens: Sequence[int], rows: int) -> Logits:
        assert not self.closed
        assert len(tokens) > 0
        assert 0 <= rows <= min(len(tokens), self.max_rows)
        assert all(0 <= token < self.n_vocab for token in tokens)
        if len(self.tokens) + len(tokens) > self.n_ctx:
            raise SpecdecError("the context is full", code="context.full")
        result = []
        for index, token in enumerate(tokens):
            self.tokens.append(token)
            self.decoded.append(token)
            if index >= len(tokens) - rows:
                result.append(self.logits_after(self.tokens))
        self.seconds += self.decode_seconds + self.token_seconds * len(tokens)
        return np.array(result, dtype=np.float32).reshape(rows, self.n_vocab)

    def cut(self, length: int) -> bool:
        if length >= len(self.tokens):
            return True
        if not self.rolls_back and length > 0:
            return False
        del self.tokens[length:]
        return True

    def close(self) -> None:
        self.closed = True


@dataclass
class ToyModel:
    path: Path
    logits_after: Callable[[Sequence[int]], np.ndarray]
    n_ctx_train: int = 4096
    rolls_back: bool = True
    chat_template: str | None = None
    template_tokens: tuple[str, str] = ("", "")
    size_bytes: int = 1000
    costs: dict[str, float] = field(default_factory=dict)
    contexts: list[ToyContext] = field(default_factory=list)
    text: ToyText = field(default_factory=ToyText)
    closed: bool = False

    def new_context(self, settings: ContextSettings, max_rows: int) -> ToyContext:
        context = ToyContext(
            self.logits_after,
            n_ctx=settings.n_ctx,
            n_ctx_train=self.n_ctx_train,
            max_rows=max_rows,
            rolls_back=self.rolls_back,
            **self.costs,
        )
        self.contexts.append(context)
        return context

    def new_constraint(self, grammar: str) -> OneOfTexts:
        return OneOfTexts.from_grammar(grammar, self.text)

    def close(self) -> None:
        assert all(context.closed for context in self.contexts)
        self.closed = True


@dataclass
class ToyBackend:
    """Gives `target*` files one table and `draft*` files another that agrees with it often."""

    target_logits: Callable[[Sequence[int]], np.ndarray] = field(default_factory=lambda: table_logits(1))
    draft_logits: Callable[[Sequence[int]], np.ndarray] | None = None
    target_options: dict[str, object] = field(default_factory=dict)
    draft_options: dict[str, object] = field(default_factory=dict)
    models: list[ToyModel] = field(default_factory=list)
    name: str = "toy"
    version: str = "0"

    def devices(self) -> tuple[BackendDevice, ...]:
        return (BackendDevice("CPU", "toy", "cpu", 8 << 30, 8 << 30),)

    def load(
        self, path: Path, settings: ContextSettings, progress: Callable[[float], bool] | None = None
    ) -> ToyModel:
        if progress is not None and not progress(1.0):
            raise KeyboardInterrupt
        if path.name.startswith("draft"):
            model = ToyModel(path, self.draft_logits or noisy(self.target_logits), **self.draft_options)  # type: ignore[arg-type]
        else:
            model = ToyModel(path, self.target_logits, **self.target_options)  # type: ignore[arg-type]
        self.models.append(model)
        return model

    def quantize(self, source: Path, destination: Path, quantization: str) -> None:
        destination.write_bytes(source.read_bytes())


def noisy(
    logits_after: Callable[[Sequence[int]], np.ndarray], scale: float = 0.6
) -> Callable[[Sequence[int]], np.ndarray]:
    """The same model, blurred: a draft that is right most of the time."""
    noise = table_logits(99, end_bias=0.0)
    return lambda tokens: logits_after(tokens) + scale * noise(tokens)


class OracleDrafter:
    """Knows what plain decoding would say: every token is accepted."""

    name = "oracle"
    needs = DrafterNeeds()
    seconds = 0.0
    notice = None

    def __init__(self, answer: Sequence[int]) -> None:
        self._answer = list(answer)
        self._said = 0

    def begin(self, tokens: Sequence[int]) -> None:
        self._said = 0

    def observe(self, tokens: Sequence[int]) -> None:
        self._said += len(tokens)

    def propose(self, budget: Budget) -> Draft:
        return Draft.chain(self._answer[self._said : self._said + budget.max_tokens], source=self.name)

    def accept(self, outcome: Outcome) -> None:
        self._said += len(outcome.tokens)

    def close(self) -> None:
        pass


class WrongDrafter(OracleDrafter):
    """Never right."""

    name = "wrong"

    def propose(self, budget: Budget) -> Draft:
        right = self._answer[self._said : self._said + budget.max_tokens]
        return Draft.chain([(token + 1) % N_VOCAB for token in right], source=self.name)


class RaisingDrafter(OracleDrafter):
    """Fails in its second round."""

    name = "raising"

    def propose(self, budget: Budget) -> Draft:
        if self._said > 0:
            raise RuntimeError("the drafter broke")
        return Draft.chain(self._answer[:1], source=self.name)
