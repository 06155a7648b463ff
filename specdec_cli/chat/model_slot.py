"""The models of a chat: one pair at a time, the old one closed before the new one is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from specdec_cli.assemble import Engine
from specdec_cli.chat.model_files import missing_files
from specdec_cli.chat.pace import PlainPace
from specdec_cli.chat.ports import Loaded, Models, Prepared, Terminal
from specdec_cli.chat.prompting import PromptBuilder
from specdec_cli.errors import SpecdecError
from specdec_cli.ui.chat_view import ChatView


class ModelSlot:
    """Owner of everything native in a chat. `prompts` and `pace` belong to the models that are loaded."""

    def __init__(self, models: Models, view: ChatView, terminal: Terminal) -> None:
        self.models = models
        self.loaded: Loaded | None = None
        self.prompts: PromptBuilder | None = None
        self.pace = PlainPace()
        self._view = view
        self._terminal = terminal
        self._prepared: Prepared | None = None
        self._gone: set[Path] = set()

    def open(self, changes: Mapping[str, object], apply: Callable[[Engine], None]) -> None:
        """Load other models, or the same ones with other options; `apply` is done to the new engine.

        Raises `SpecdecError`; the models of before are in use then, as far as they can still be loaded.
        """
        before, prepared = self._prepared, self.models.prepare(changes)
        self.close()
        try:
            self._load(prepared, apply)
        except (SpecdecError, KeyboardInterrupt) as error:
            if before is None:
                raise
            self._view.note("going back to the models of before")
            try:
                self._load(before, apply)
            except SpecdecError as second:
                self._view.error(second)
            if isinstance(error, KeyboardInterrupt):
                raise SpecdecError("loading was stopped") from error
            raise

    def require(self) -> Loaded:
        """The models. Raises `SpecdecError` while there are none."""
        if self.loaded is None:
            raise SpecdecError("no model is loaded", hint="/pair NAME or /model PATH loads one")
        return self.loaded

    def require_prompts(self) -> PromptBuilder:
        """What makes prompts for them."""
        self.require()
        assert self.prompts is not None
        return self.prompts

    def check_files(self) -> None:
        """Before an answer: say which files are gone, once; raise `SpecdecError` for one that changed."""
        for path in missing_files(self.require().files) - self._gone:
            self._gone.add(path)
            self._view.warning(f"{path} is gone from the disk; this chat goes on with what is loaded")

    def forget_caches(self) -> None:
        """After an error in the middle of an answer: the next one decodes everything again."""
        session = self.require().engine.session
        session.target.cut(0)
        session.committed = []

    def close(self) -> None:
        """Free everything native."""
        loaded, self.loaded = self.loaded, None
        if loaded is not None:
            loaded.engine.close()

    def _load(self, prepared: Prepared, apply: Callable[[Engine], None]) -> None:
        ended = self._terminal.answering()
        try:
            loaded = prepared.load()
        finally:
            ended()
        self.loaded, self._prepared = loaded, prepared
        self.prompts, self.pace, self._gone = PromptBuilder(loaded.engine.target), PlainPace(), set()
        apply(loaded.engine)
        for finding in loaded.engine.findings:
            self._view.warning(finding.message, finding.hint)
        if not self.prompts.has_template:
            self._view.note("this model carries no chat template: a plain transcript is used")
