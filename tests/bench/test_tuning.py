"""A tournament on the toy backend: machines whose best settings are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specdec_cli.bench.rig import Rig
from specdec_cli.bench.tuning import Question, Tournament, TuneAmounts, TuneResult, TuneSpace
from specdec_cli.bench.values import Placement, Variant
from specdec_cli.settings import ContextSettings
from tests.support.timed import Cost, TimedBackend
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import noisy, table_logits

WORDS = table_logits(7, end_bias=-9.0)
AMOUNTS = TuneAmounts(("chat", "json"), 3, 32)


def flat(settings: ContextSettings) -> Cost:
    """A GPU: rows are nearly free, threads matter not."""
    return lambda tokens: 0.020 + 0.0001 * tokens


def steep(settings: ContextSettings) -> Cost:
    """A CPU without spare arithmetic: n rows cost n."""
    return lambda tokens: 0.010 * tokens


def best_with_two_threads(settings: ContextSettings) -> Cost:
    step = {1: 0.030, 2: 0.016, 4: 0.020}[settings.threads or 4]
    return lambda tokens: step + 0.0001 * tokens


def cheap(settings: ContextSettings) -> Cost:
    return lambda tokens: 0.001 * tokens


class Machine:
    def __init__(self, folder: Path, target: Callable[[ContextSettings], Cost], blur: float = 0.3) -> None:
        self.backend = TimedBackend(
            target_logits=WORDS, draft_logits=noisy(WORDS, blur), target_cost=target, draft_cost=cheap
        )
        self.rig = Rig(self.backend, 16, profiles=folder / "profiles", clock=self.backend.clock)
        settings = ContextSettings(threads=4)
        self.placement = Placement(
            write_tiny_model(folder / "target.gguf"),
            write_tiny_model(folder / "draft.gguf"),
            settings,
            settings,
        )
        self.defaults = Variant("auto", "auto", 16, self.placement)

    def tune(self, space: TuneSpace) -> TuneResult:
        return Tournament(self.rig, AMOUNTS).run(self.defaults, space)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    made: list[Machine] = []

    def make(*arguments: object) -> Machine:
        made.append(Machine(tmp_path, *arguments))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.rig.close()
        assert all(model.closed for model in one.backend.models)


def asked(result: TuneResult, name: str) -> Question:
    return next(question for question in result.questions if question.name == name)


def test_the_best_number_of_threads_is_found(machine: Callable[..., Machine]) -> None:
    result = machine(best_with_two_threads).tune(TuneSpace(threads=(1, 2, 4)))
    assert asked(result, "threads").chosen == "2 threads"
    assert [answer.label for answer in asked(result, "threads").answers] == ["1 threads", "2 threads"]
    assert result.best.placement.target_settings.threads == 2
    assert result.best.placement.draft_settings.threads == 2
    assert result.is_better
    assert result.over_defaults.value == pytest.approx(20 / 16, rel=0.1)


def test_the_drafts_own_threads_stay_where_the_user_put_them(tmp_path: Path) -> None:
    one = Machine(tmp_path, best_with_two_threads)
    own = ContextSettings(threads=1)
    placement = Placement(one.placement.target, one.placement.draft, one.placement.target_settings, own)
    result = Tournament(one.rig, AMOUNTS).run(Variant("auto", "auto", 16, placement), TuneSpace(threads=(2,)))
    one.rig.close()
    assert result.best.placement.draft_settings.threads == 1


def test_where_nothing_pays_plain_decoding_or_the_defaults_stay(machine: Callable[..., Machine]) -> None:
    result = machine(steep, 3.0).tune(TuneSpace(lengths=(1, 4, 16)))
    question = asked(result, "drafter and length")
    by_label = {answer.label: answer.ratio for answer in question.answers}
    assert set(by_label) == {"none", "model:1", "model:4", "model:16", "ngram:1", "ngram:4", "ngram:16"}
    assert by_label["model:16"].value < 0.5
    assert result.best.drafter in ("auto", "none")
    assert result.over_plain.value > 0.9


def test_a_draft_that_is_nearly_the_target_wins_over_a_poor_one(
    machine: Callable[..., Machine], tmp_path: Path
) -> None:
    one = machine(flat, 4.0)
    good = write_tiny_model(tmp_path / "target-small.gguf")  # the toy gives `target*` the target's own table
    result = one.tune(TuneSpace(drafts={"family/good:Q4_0": good}))
    assert asked(result, "draft").chosen == "family/good:Q4_0"
    assert result.best.placement.draft == good
    assert result.is_better


def test_a_draft_cache_that_is_faster_is_taken_and_the_targets_is_left_alone(tmp_path: Path) -> None:
    one = Machine(tmp_path, flat)
    one.backend.draft_cost = lambda settings: (
        lambda tokens: (0.004 if settings.kv_type == "f16" else 0.001) * tokens
    )
    result = one.tune(TuneSpace(draft_kv_types=("f16", "q8_0")))
    one.rig.close()
    assert asked(result, "draft KV cache").chosen == "draft q8_0"
    assert result.best.placement.draft_settings.kv_type == "q8_0"
    assert result.best.placement.target_settings.kv_type == "f16"
    assert [question.name for question in result.questions] == ["draft KV cache"]


def test_the_targets_cache_is_tried_on_request(tmp_path: Path) -> None:
    one = Machine(tmp_path, lambda settings: lambda tokens: 0.02 if settings.kv_type == "f16" else 0.01)
    result = one.tune(TuneSpace(kv_types=("f16", "q8_0")))
    one.rig.close()
    assert result.best.placement.target_settings.kv_type == "q8_0"
    assert result.over_defaults.value == pytest.approx(2.0, rel=0.2)


def test_without_questions_the_defaults_are_measured_against_plain_decoding(
    machine: Callable[..., Machine],
) -> None:
    result = machine(flat).tune(TuneSpace())
    assert result.questions == ()
    assert result.best == result.defaults
    assert not result.is_better
    assert result.over_defaults.value == 1.0
    assert result.over_plain.surely_above_one


def test_a_tuning_that_is_stopped_stores_nothing_because_it_ends(machine: Callable[..., Machine]) -> None:
    one = machine(flat)
    stop = iter([False] * 100 + [True] * 10_000)
    with pytest.raises(KeyboardInterrupt):
        Tournament(one.rig, AMOUNTS, lambda: next(stop)).run(one.defaults, TuneSpace(lengths=(1, 4)))
