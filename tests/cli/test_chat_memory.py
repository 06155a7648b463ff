"""A chat that does not fit, by plan or found out while loading: smaller, if the user agrees, in the plan's order."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from specdec_cli.cli import run_preflight
from specdec_cli.cli.chat_models import ChatModels
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.errors import SpecdecError
from specdec_cli.hardware.system import SystemFacts, system_facts
from specdec_cli.settings import ContextSettings, SamplingSettings
from specdec_cli.ui.console import Printer
from tests.support.chats import chat
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend, ToyContext, ToyModel


class SmallBackend(ToyBackend):
    """Contexts above a size cannot be made."""

    def __init__(self, most: int, code: str = "memory.context") -> None:
        super().__init__()
        self._most, self._code = most, code
        self.tried: list[int] = []

    def load(
        self, path: Path, settings: ContextSettings, progress: Callable[[float], bool] | None = None
    ) -> ToyModel:
        model = super().load(path, settings, progress)
        make = model.new_context

        def new_context(settings: ContextSettings, max_rows: int) -> ToyContext:
            self.tried.append(settings.n_ctx)
            if settings.n_ctx > self._most:
                raise SpecdecError("failed to allocate the KV cache", code=self._code)
            return make(settings, max_rows)

        model.new_context = new_context  # type: ignore[method-assign]
        return model


@contextmanager
def never() -> Iterator[Callable[[], bool]]:
    yield lambda: False


Pair = tuple[Path, Path]


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    names = ("target.gguf", "draft.gguf")
    target, draft = (write_tiny_model(tmp_path / name, context=8192) for name in names)
    return target, draft


def models(pair: Pair, backend: ToyBackend, agreed: list[str] | None, **options: object) -> ChatModels:
    """`agreed` collects what the user is asked and says yes to; None says no."""

    def consent(_problem: str, instead: str) -> bool:
        if agreed is None:
            return False
        agreed.append(instead)
        return True

    typed = EngineOptions(target=str(pair[0]), draft=str(pair[1]), **options)  # type: ignore[arg-type]
    environment = Environment(stdout=io.StringIO(), stderr=io.StringIO(), open_backend=lambda: backend)
    printer = Printer(environment.stderr, quiet=True)
    return ChatModels(environment, typed, SamplingSettings(), printer, never, consent, force=False)


def test_out_of_memory_while_loading_tries_less_with_consent(pair: Pair) -> None:
    backend, agreed = SmallBackend(3000), list[str]()
    door = models(pair, backend, agreed, ctx=8192)
    loaded = door.prepare({}).load()
    assert agreed
    assert all(change.startswith("--ctx ") for change in agreed)
    assert loaded.engine.session.target.n_ctx <= 3000
    assert door.option("ctx") == loaded.engine.session.target.n_ctx
    assert backend.tried[0] == 8192
    loaded.engine.close()
    assert all(model.closed for model in backend.models)


def test_without_consent_the_reason_is_the_error(pair: Pair) -> None:
    backend = SmallBackend(3000)
    with pytest.raises(SpecdecError, match="failed to allocate"):
        models(pair, backend, None, ctx=8192).prepare({}).load()
    assert backend.tried == [8192]
    assert all(model.closed for model in backend.models)


def test_what_never_fits_ends(pair: Pair) -> None:
    with pytest.raises(SpecdecError):
        models(pair, SmallBackend(0), [], ctx=8192).prepare({}).load()


def test_other_failures_are_not_met_with_less(pair: Pair) -> None:
    agreed = list[str]()
    with pytest.raises(SpecdecError, match="failed to allocate"):
        models(pair, SmallBackend(10, code="arch.no_rollback"), agreed, ctx=4096).prepare({}).load()
    assert agreed == []


def small_machine(total: int) -> Callable[[], SystemFacts]:
    facts = system_facts()
    return lambda: SystemFacts(
        facts.physical_cores, facts.performance_cores, facts.usable_cores, total, total, False
    )


def test_what_does_not_fit_by_plan_is_asked_about_before_loading(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_preflight, "system_facts", small_machine(12 << 20))
    backend, agreed = ToyBackend(), list[str]()
    door = models(pair, backend, agreed, ctx=8192)
    prepared = door.prepare({})  # memory is no reason to refuse while the old models are still loaded
    loaded = prepared.load()
    assert len(agreed) == 1
    assert len(backend.models) <= 2
    assert agreed[0].startswith("--")
    loaded.engine.close()


def test_without_a_terminal_it_is_refused_with_the_way_out(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_preflight, "system_facts", small_machine(12 << 20))
    result = chat(pair, "hello", options=("--ctx", "8192"))
    assert result.code == 1
    assert "a context of 8192 needs" in result.stderr
    assert "this fits: --" in result.stderr
    assert result.stdout == ""
