"""A running chat: the conversation, the models, what is shown; and how a message becomes an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace

from specdec_cli.assemble import Engine
from specdec_cli.chat.answering import Answered, answered_turn, figures_of, generate_answer
from specdec_cli.chat.context_budget import Meter, WhenFull, cannot_fit
from specdec_cli.chat.conversation import Conversation
from specdec_cli.chat.fitting import fit
from specdec_cli.chat.model_slot import ModelSlot
from specdec_cli.chat.ports import Loaded, Terminal
from specdec_cli.chat.prompting import Prompt
from specdec_cli.chat.session_document import SavedChat
from specdec_cli.chat.session_files import SessionFile
from specdec_cli.chat.thinking import ThinkingSplitter
from specdec_cli.chat.wording import turn_line
from specdec_cli.draft.catalog import drafter_kind
from specdec_cli.engine.output import Piece
from specdec_cli.errors import SpecdecError
from specdec_cli.settings import GenerationSettings, SamplingSettings
from specdec_cli.ui.chat_view import ChatView

OFF_REASON = "/spec off"

Interrupts = Callable[[], AbstractContextManager[Callable[[], bool]]]
"""Inside the block Ctrl-C is a wish that can be asked for."""


@dataclass
class Shown:
    """What `/show` switches."""

    thinking: bool = True
    accepted: bool = False
    figures: bool = True


@dataclass
class Chat:
    """Everything one chat works on. Commands act on it; `ask` and `answer` run a turn."""

    slot: ModelSlot
    terminal: Terminal
    view: ChatView
    session: SessionFile
    interrupts: Interrupts
    sampling: SamplingSettings
    limits: GenerationSettings
    conversation: Conversation = field(default_factory=Conversation)
    when_full: WhenFull = "ask"
    drafter: str | None = None
    """Who drafts, when the user chose otherwise in this chat (`/spec`)."""
    shown: Shown = field(default_factory=Shown)
    settings: dict[str, str] = field(default_factory=dict)
    """What was changed with `/set` and `/spec`, as typed."""
    attachments: list[str] = field(default_factory=list)
    """Texts of files that go out with the next message."""
    was_stopped: bool = False
    """Whether Ctrl-C ended the last answer."""
    _warned_of_context: bool = False
    _saving_failed: bool = False
    _told: str | None = None
    """What the drafter last had to say."""

    @property
    def loaded(self) -> Loaded | None:
        """The models, while there are any."""
        return self.slot.loaded

    @property
    def meter(self) -> Meter:
        """How full the context is now."""
        if self.loaded is None:
            return Meter(0, 0)
        session = self.loaded.engine.session
        return Meter(len(session.committed), session.target.n_ctx)

    def require_loaded(self) -> Loaded:
        """The models. Raises `SpecdecError` while there are none."""
        return self.slot.require()

    def open(self, changes: Mapping[str, object]) -> None:
        """Load other models, or the same ones with other options. The conversation goes on with them.

        Raises `SpecdecError`; the models of before are in use then, as far as they can still be loaded.
        """
        self.slot.open(changes, self._apply)

    def use_drafter(self, name: str) -> None:
        """Let another drafter propose, as far as its drafts usually go unless the user chose a length.

        Raises `SpecdecError` when it cannot work with these models.
        """
        engine = self.require_loaded().engine
        engine.use_drafter(name, OFF_REASON)
        chosen = self.settings.get("draft-max") or self.slot.models.option("draft_max")
        longest = drafter_kind(name).draft_max if chosen is None else int(str(chosen))
        engine.use_draft_settings(draft_max=min(longest, engine.session.target.max_rows - 1))
        self.drafter = name

    def _apply(self, engine: Engine) -> None:
        """What was chosen in this chat holds for other models too, as far as they can."""
        engine.use_sampling(self.sampling)
        if self.drafter is not None and self.drafter != engine.drafting.drafter:
            try:
                self.use_drafter(self.drafter)
            except SpecdecError as error:
                self.view.warning(error.message, error.hint)

    def ask(self, text: str) -> None:
        """Answer a new message. Raises `SpecdecError` when that cannot be done."""
        n_ctx = self.require_loaded().engine.session.target.n_ctx
        text = "\n\n".join([*self.attachments, text])
        if cannot_fit(text, n_ctx):
            raise SpecdecError(
                f"the message has {len(text):,} characters, far more than a context of {n_ctx} tokens holds",
                hint="shorten it, or /set ctx N",
            )
        if self._answer(self.conversation.asking(text)):
            self.attachments.clear()

    def ask_again(self) -> None:
        """Answer the last message anew. Its answer of before stays until there is another one."""
        if self.conversation.pending is not None:
            self._answer(self.conversation)
        else:
            self._answer(self.conversation.asking_again(), instead_of=self.conversation)

    def ask_instead(self, text: str) -> None:
        """Answer another text in place of the last message, which stays until there is an answer."""
        asking = self.conversation.without_last().asking(text)
        self._answer(asking, instead_of=self.conversation)

    def _answer(self, asking: Conversation, instead_of: Conversation | None = None) -> bool:
        """Answer the pending message of `asking`; False when it does not fit and the user chose to stop.

        From the moment the model begins the message is in the saved conversation, whatever happens then.
        """
        loaded = self.require_loaded()
        self.slot.check_files()
        fitted = fit(self, self.slot.require_prompts(), asking)
        if fitted is None:
            self.view.note("not sent")
            return False
        self.conversation, prompt = fitted
        if instead_of is None:
            self.save()
        try:
            answered = self._generate(loaded, prompt)
        except SpecdecError:
            self.slot.forget_caches()
            self.conversation = instead_of or self.conversation
            raise
        loaded.on_answer(answered.generation, answered.shown_seconds)
        self.was_stopped = answered.generation.finish_reason == "interrupt"
        if answered.was_stopped_before_it_began:
            self.conversation = instead_of or self.conversation
            self.view.note("stopped before the answer began; /retry asks again")
            return True
        self._take(prompt, answered, loaded)
        return True

    def _generate(self, loaded: Loaded, prompt: Prompt) -> Answered:
        """Play the answer on the screen."""
        splitter = ThinkingSplitter(prompt.opens_thinking)
        drawing = self.view.answer(show_accepted=self.shown.accepted, show_thinking=self.shown.thinking)

        def on_pieces(pieces: Sequence[Piece]) -> None:
            for piece in pieces:
                for part, text in splitter.push(piece.text):
                    drawing.write(part, text, piece.drafted)

        ended = self.terminal.answering()
        waiting = ExitStack()
        try:
            waiting.enter_context(self.view.waiting("reading the conversation"))
            with self.interrupts() as interrupted:
                answered = generate_answer(
                    loaded.engine,
                    prompt,
                    self._limits(),
                    interrupted,
                    on_prefilled=waiting.close,
                    on_pieces=on_pieces,
                    on_round=self.slot.pace.hear,
                )
            for part, text in splitter.finish():
                drawing.write(part, text, False)
        finally:
            waiting.close()
            drawing.close()
            ended()
        return answered

    def _limits(self) -> GenerationSettings:
        return replace(self.limits, stop=(*self.limits.stop, *self.slot.require_prompts().stop))

    def _take(self, prompt: Prompt, answered: Answered, loaded: Loaded) -> None:
        """Put the answer into the conversation, save it, say how it went."""
        self.slot.require_prompts().remember(prompt, answered.text, answered.token_ids)
        figures = figures_of(answered, self.slot.pace, loaded.engine)
        turn = answered_turn(self.conversation.turns[-1], prompt, answered, figures, loaded.title)
        self.conversation = self.conversation.answering(turn)
        self.save()
        engine = loaded.engine
        if self.shown.figures:
            self.view.note(turn_line(figures, self.meter, engine))
        if not answered.text:
            self.view.note("the model answered nothing")
        self._say_how_it_ended(turn.finish_reason)
        self._say_news_of_the_drafter(engine.session.drafter.notice)

    def _say_news_of_the_drafter(self, notice: str | None) -> None:
        if notice and notice != self._told:
            self.view.warning(notice)
        self._told = notice

    def _say_how_it_ended(self, reason: str | None) -> None:
        if reason == "interrupt":
            self.view.note("stopped; what came is kept")
        elif reason == "length":
            self.view.note(f"cut at {self.limits.max_tokens} tokens (/set max-tokens N)")
        elif reason == "context":
            self.view.warning("the answer was cut: the context is full")
        meter = self.meter
        if meter.is_nearly_full and not self._warned_of_context and reason != "context":
            self.view.warning(
                f"the context is {meter.fraction:.0%} full",
                "when nothing more fits you are asked what to leave out; /clear begins anew",
            )
        self._warned_of_context = meter.is_nearly_full

    def save(self) -> None:
        """Write the session. A failure is told once and does not stop the chat."""
        selection = self.loaded.selection if self.loaded is not None else {}
        try:
            renamed = self.session.save(SavedChat(self.conversation, selection, self.settings))
        except SpecdecError as error:
            if not self._saving_failed:
                self.view.error(error)
            self._saving_failed = True
            return
        self._saving_failed = False
        if renamed is not None:
            self.view.warning(f"another chat wrote to this session; this one goes on as {renamed}")
