"""The built-in prompts, and what `--tasks` and `--drafters` make of what is typed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from specdec_cli.bench.tasks import TASKS, WARM_UP, most_runs, parse_tasks, prompts_of
from specdec_cli.bench.values import Placement
from specdec_cli.bench.variants import Choice, default_drafters, make_variants, parse_drafters
from specdec_cli.draft.catalog import DRAFTERS
from specdec_cli.errors import UsageProblem
from specdec_cli.settings import ContextSettings

PLACEMENT = Placement(Path("target.gguf"), Path("draft.gguf"), ContextSettings(), ContextSettings())


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_many_prompts_and_no_two_are_alike(task: str) -> None:
    prompts = prompts_of(task)
    assert len(prompts) >= 12
    assert len(set(prompts)) == len(prompts)
    assert WARM_UP not in prompts
    assert all("{document}" not in prompt for prompt in prompts)


@pytest.mark.parametrize("task", ["edit", "summarize"])
def test_documents_are_long_and_neighbours_are_about_others(task: str) -> None:
    prompts = prompts_of(task)
    assert min(len(prompt) for prompt in prompts) > 1500
    for first, second in pairwise(prompts):
        assert first.splitlines()[0] != second.splitlines()[0]
        assert first[-300:] != second[-300:]


def test_all_tasks_have_fresh_prompts_for_twelve_runs() -> None:
    assert most_runs(TASKS) == 12


def test_tasks_are_named_once_each() -> None:
    assert parse_tasks("edit, code,edit") == ("edit", "code")
    with pytest.raises(UsageProblem, match="'poems'") as caught:
        parse_tasks("code,poems")
    assert "summarize" in str(caught.value.hint)
    with pytest.raises(UsageProblem):
        parse_tasks(",")


def test_drafters_with_and_without_lengths() -> None:
    choices = parse_drafters("ngram, model:2-4 ,model:3,ngram:32")
    assert [choice.label for choice in choices] == ["ngram", "model:2", "model:3", "model:4", "ngram:32"]


@pytest.mark.parametrize(
    "text", ["", "magic", "model:0", "model:65", "model:4-2", "model:x", "model:", "none"]
)
def test_drafters_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageProblem):
        parse_drafters(text)


def test_by_default_everything_that_the_pair_allows_is_compared() -> None:
    speculating = {name for name, kind in DRAFTERS.items() if kind.speculates}
    assert {choice.drafter for choice in default_drafters(has_draft=True)} == speculating
    without = {choice.drafter for choice in default_drafters(has_draft=False)}
    assert without == {name for name in speculating if not DRAFTERS[name].needs.own_context}


def test_lengths_come_from_the_choice_then_the_bound_then_the_drafter() -> None:
    choices = (Choice("ngram"), Choice("ngram", 3))
    assert [v.draft_max for v in make_variants(choices, PLACEMENT)[1:]] == [DRAFTERS["ngram"].draft_max, 3]
    assert [v.draft_max for v in make_variants(choices, PLACEMENT, 5)[1:]] == [5, 3]
    assert make_variants(choices, PLACEMENT)[0].label == "plain"
