"""What is on trial: one engine, asked to answer plainly or with drafts, and contexts that have seen nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from specdec_cli.draft.catalog import PLAIN, drafter_kind
from specdec_cli.engine.engine import Engine
from specdec_cli.errors import UsageProblem
from specdec_cli.proof.remembering import RememberingContext
from specdec_cli.proof.report import ShownToken
from specdec_cli.protocols import ModelContext
from specdec_cli.settings import ContextSettings, GenerationSettings


@dataclass(frozen=True)
class Answer:
    """The tokens of one answer, the one that ended it included, and what drafting it took."""

    tokens: tuple[int, ...]
    drafted: int
    accepted: int


class Subject:
    """An engine and the settings its contexts were made with. The engine's owner closes it.

    Raises `UsageProblem` when the engine's drafter drafts nothing: plain decoding is itself.
    """

    def __init__(
        self,
        engine: Engine,
        target_settings: ContextSettings,
        draft_settings: ContextSettings,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self.engine = engine
        self.drafter = engine.drafting.drafter
        if not drafter_kind(self.drafter).speculates:
            raise UsageProblem(
                "nothing drafts, so there is nothing to prove", hint="give a --draft, or --drafter ngram"
            )
        self._target_settings = target_settings
        self._draft_settings = draft_settings
        self._interrupted = interrupted

    def plain(self, prompt: Sequence[int], max_tokens: int) -> Answer:
        """Plain decoding's answer. Raises `KeyboardInterrupt` when the user has asked to stop."""
        return self._answer(PLAIN, prompt, max_tokens)

    def drafted(self, prompt: Sequence[int], max_tokens: int) -> Answer:
        """The answer with drafts. Raises `KeyboardInterrupt` when the user has asked to stop."""
        return self._answer(self.drafter, prompt, max_tokens)

    def _answer(self, drafter: str, prompt: Sequence[int], max_tokens: int) -> Answer:
        engine = self.engine
        engine.use_drafter(drafter)
        generation = engine.generate(GenerationSettings(max_tokens), self._interrupted)
        generation.prefill(prompt)
        for _event in generation:
            pass
        if generation.finish_reason == "interrupt":
            raise KeyboardInterrupt
        statistics = generation.statistics
        tokens = tuple(engine.session.committed[len(prompt) :])
        return Answer(tokens, statistics.drafted, statistics.accepted)

    def start(self, prompt: Sequence[int]) -> None:
        """Read a prompt, and leave the last of its tokens to be decoded. What was read before is kept."""
        self.engine.session.start(prompt, self._interrupted)

    def forget(self) -> None:
        """Empty both models' caches."""
        session = self.engine.session
        session.target.cut(0)
        session.committed = []
        self.engine.use_drafter(self.drafter, fresh=True)
        if self.engine.parts.draft_context is not None:
            self.engine.parts.draft_context.cut(0)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Inside the block, neither model decodes anything twice. Empties both caches, before and after."""
        engine, target, parts = self.engine, self.engine.session.target, self.engine.parts
        engine.session.target = RememberingContext(target)
        if parts.draft_context is not None:
            engine.parts = replace(parts, draft_context=RememberingContext(parts.draft_context))
        try:
            self.forget()
            yield
        finally:
            engine.session.target = target
            engine.parts = replace(engine.parts, draft_context=parts.draft_context)
            self.forget()

    @contextmanager
    def fresh_target(self) -> Iterator[ModelContext]:
        """A context of the target that has seen nothing, made like the engine's own."""
        used = self.engine.session.target
        context = self.engine.target.new_context(
            replace(self._target_settings, n_ctx=used.n_ctx), used.max_rows
        )
        try:
            yield context
        finally:
            context.close()

    @contextmanager
    def fresh_draft(self) -> Iterator[ModelContext]:
        """A context of the draft that has seen nothing, made like the engine's own, which must be there."""
        used, draft = self.engine.parts.draft_context, self.engine.draft
        assert used is not None
        assert draft is not None
        context = draft.new_context(replace(self._draft_settings, n_ctx=used.n_ctx), used.max_rows)
        try:
            yield context
        finally:
            context.close()

    def show(self, token: int) -> ShownToken:
        """A token as people read it."""
        text = self.engine.target.text
        written = text.piece(token).decode("utf-8", errors="replace")
        if not written:
            written = "<end of answer>" if text.is_end_of_generation(token) else "<control token>"
        return ShownToken(token, written)

    def text_of(self, tokens: Sequence[int]) -> str:
        """The text of an answer, or of a part of one."""
        pieces = b"".join(self.engine.target.text.piece(token) for token in tokens)
        return pieces.decode("utf-8", errors="replace")
