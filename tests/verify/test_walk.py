"""The walk: *match* is plain decoding for every seed and every draft, and no row is read that is not there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.draft.values import Draft
from specdec_cli.errors import EngineFault, SpecdecError
from specdec_cli.sampling.constraint import Constraint
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.random_source import DRAFT, RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from specdec_cli.verify.walk import Verdict, judge
from tests.support.toy_constraint import Alternating

N_VOCAB = 12
KINDS = {
    "greedy": SamplingSettings(),
    "greedy, penalties": SamplingSettings(repeat_penalty=1.6, frequency_penalty=0.5),
    "defaults": SamplingSettings(temperature=0.8),
    "hot, dense": SamplingSettings(temperature=1.6, top_k=0, top_p=1.0, min_p=0.0),
    "penalties": SamplingSettings(
        temperature=1.0, repeat_penalty=1.6, presence_penalty=1.0, penalty_last_n=5
    ),
    "dry": SamplingSettings(temperature=1.0, dry_multiplier=2.0, dry_allowed_length=1),
    "xtc": SamplingSettings(temperature=1.0, xtc_probability=0.5),
}


SAMPLER = Sampler(KINDS["greedy"], N_VOCAB)


def logits_after(text: Sequence[int]) -> np.ndarray:
    key = [len(text) % 3, *(token + 1 for token in text[-2:])]
    return np.random.default_rng(key).normal(0, 1.5, N_VOCAB).astype(np.float32)


class Rows:
    """The target's rows for a draft; remembers which were read, and has no others."""

    def __init__(self, history: Sequence[int], draft: Draft) -> None:
        paths = [list(history)]
        for token, parent in zip(draft.tokens, draft.parents, strict=True):
            paths.append([*paths[parent + 1], token])
        self.rows = [logits_after(path) for path in paths]
        self.read: list[int] = []

    def __getitem__(self, index: int) -> np.ndarray:
        assert 0 <= index < len(self.rows)
        self.read.append(index)
        return self.rows[index]


def judged(
    draft: Draft, kind: str, history: Sequence[int], seed: int, rule: str = "match", constraint: object = None
) -> tuple[Verdict, Rows]:
    rows = Rows(history, draft)
    sampler = Sampler(KINDS[kind], N_VOCAB)
    return judge(rows, draft, sampler, history, RandomSource(seed), rule, constraint), rows  # type: ignore[arg-type]


def plain(kind: str, history: Sequence[int], seed: int, count: int) -> list[int]:
    sampler, text = Sampler(KINDS[kind], N_VOCAB), list(history)
    while len(text) < len(history) + count:
        text.append(sampler.choose(logits_after(text), text, RandomSource(seed)))
    return text[len(history) :]


@st.composite
def drafts(draw: st.DrawFn, truth: Sequence[int] = ()) -> Draft:
    """Trees of any shape; half of the tokens are what the target would say at that depth."""
    size = draw(st.integers(0, 7))
    parents = [draw(st.integers(-1, node - 1)) for node in range(size)]
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent < 0 else depths[parent] + 1)
    tokens = [
        truth[depth] if depth < len(truth) and draw(st.booleans()) else draw(st.integers(0, N_VOCAB - 1))
        for depth in depths
    ]
    return Draft(tuple(tokens), tuple(parents))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**64 - 1), length=st.integers(1, 9))
def test_match_is_plain_decoding(kind: str, data: st.DataObject, seed: int, length: int) -> None:
    history = [token % N_VOCAB for token in range(length)]
    truth = plain(kind, history, seed, 8)
    draft = data.draw(drafts(truth))
    verdict, rows = judged(draft, kind, history, seed)
    assert list(verdict.tokens) == truth[: len(verdict.tokens)]
    assert len(verdict.tokens) == len(verdict.path) + 1
    assert [draft.tokens[node] for node in verdict.path] == list(verdict.tokens[:-1])
    assert [draft.parents[node] for node in verdict.path] == [-1, *verdict.path][: len(verdict.path)]
    assert rows.read == [0, *(node + 1 for node in verdict.path)]
    # It stopped because no child carries the token that came last.
    last = verdict.path[-1] if verdict.path else -1
    children = [node for node, parent in enumerate(draft.parents) if parent == last]
    assert verdict.tokens[-1] not in {draft.tokens[node] for node in children}


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_of_the_truth_is_accepted_whole(kind: str) -> None:
    history = [1, 2, 3]
    truth = plain(kind, history, 5, 7)
    verdict, _ = judged(Draft.chain(truth[:6]), kind, history, 5)
    assert verdict == Verdict(tuple(range(6)), tuple(truth))


@pytest.mark.parametrize("kind", KINDS)
def test_generations_by_rounds_equal_plain_decoding_for_any_drafter(kind: str) -> None:
    for seed in range(6):
        truth = plain(kind, [3, 1], seed, 40)
        text = [3, 1]
        chance = np.random.default_rng(seed)
        while len(text) < 42:
            ahead = truth[len(text) - 2 : len(text) + 3]
            tokens = [t if chance.random() < 0.7 else int(chance.integers(N_VOCAB)) for t in ahead]
            text += judged(Draft.chain(tokens), kind, text, seed)[0].tokens
        assert text[2:42] == truth


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6), sampled=st.booleans())
def test_reject_reads_only_rows_that_are_there(
    kind: str, data: st.DataObject, seed: int, sampled: bool
) -> None:
    draft = data.draw(drafts())
    if sampled:
        flat = Distribution(None, np.full(N_VOCAB, 1 / N_VOCAB))
        draft = Draft(draft.tokens, draft.parents, (flat,) * len(draft))
    verdict, rows = judged(draft, kind, [4, 4], seed, "reject")
    assert len(verdict.tokens) == len(verdict.path) + 1
    assert [draft.tokens[node] for node in verdict.path] == list(verdict.tokens[:-1])
    assert rows.read == [0, *(node + 1 for node in verdict.path)]


def test_greedy_reject_is_match() -> None:
    flat = Distribution(None, np.full(N_VOCAB, 1 / N_VOCAB))
    for seed in range(20):
        truth = plain("greedy", [seed % N_VOCAB], 0, 3)
        draft = Draft.chain(truth[:2], distributions=[flat, flat])
        verdict, _ = judged(draft, "greedy", [seed % N_VOCAB], seed, "reject")
        assert list(verdict.tokens) == truth


def test_reject_with_the_targets_own_distribution_accepts_everything() -> None:
    sampler = Sampler(KINDS["defaults"], N_VOCAB)
    for seed in range(50):
        random, text, distributions = RandomSource(seed), [2, 7], []
        for _ in range(4):
            distributions.append(sampler.distribution(logits_after(text), text))
            text.append(distributions[-1].draw(random.uniform(len(text), DRAFT, index=2)))
        draft = Draft.chain(text[2:], distributions=distributions)
        verdict, _ = judged(draft, "defaults", [2, 7], seed, "reject")
        assert verdict.path == (0, 1, 2, 3)


def test_frequencies_of_the_first_token_under_reject() -> None:
    """Real random numbers end to end; chi-square at a false alarm rate below 1e-6 (fixed seeds)."""
    sampler, history = Sampler(KINDS["hot, dense"], N_VOCAB), [5, 9]
    target = sampler.distribution(logits_after(history), history).probabilities
    proposal = Distribution(None, np.roll(target, 1))
    counts = np.zeros(N_VOCAB)
    runs = 4000
    for seed in range(runs):
        drawn = proposal.draw(RandomSource(seed).uniform(2, DRAFT, index=2))
        draft = Draft.chain([drawn], distributions=[proposal])
        counts[judged(draft, "hot, dense", history, seed, "reject")[0].tokens[0]] += 1
    statistic = ((counts - runs * target) ** 2 / (runs * target)).sum()
    # 11 degrees of freedom: P(statistic > 50) is 6e-7.
    assert statistic < 50


@pytest.mark.parametrize("rule", ["match", "reject"])
@pytest.mark.parametrize("bad_row", [0, 1])
def test_bad_logits_on_the_way_stop_the_walk(bad_row: int, rule: str) -> None:
    sampler, random = Sampler(KINDS["defaults"], N_VOCAB), RandomSource(0)
    rows = np.zeros((3, N_VOCAB), dtype=np.float32)
    rows[:, 6] = 50.0
    rows[bad_row, 4] = np.nan
    with pytest.raises(SpecdecError, match="not numbers"):
        judge(rows, Draft.chain([6, 6]), sampler, [1], random, rule)  # type: ignore[arg-type]


def test_a_draft_that_is_no_tree_is_a_fault() -> None:
    with pytest.raises(EngineFault):
        judge(np.zeros((3, N_VOCAB)), Draft((1, 2), (0, 0)), SAMPLER, [1], RandomSource(0), "match")


FIRST, SECOND, END = frozenset({1, 3, 5, 7}), frozenset({2, 4, 6, 8}), 0


def constrained_plain(
    kind: str, history: list[int], seed: int, grammar: Alternating, count: int
) -> list[int]:
    sampler, text, state = Sampler(KINDS[kind], N_VOCAB), list(history), grammar.fork()
    while len(text) < len(history) + count and not state.ended:
        token = sampler.choose(logits_after(text), text, RandomSource(seed), state)
        state.accept(token)
        text.append(token)
    return text[len(history) :]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_a_grammar_sees_inside_a_draft_what_plain_decoding_sees(
    kind: str, data: st.DataObject, seed: int
) -> None:
    grammar = Alternating(FIRST, SECOND, END)
    truth = constrained_plain(kind, [9], seed, grammar, 8)
    draft = data.draw(drafts(truth))
    verdict, _ = judged(draft, kind, [9], seed, "match", grammar)
    assert list(verdict.tokens) == truth[: len(verdict.tokens)]
    # The caller's own state has not moved: the grammar advances when tokens are committed.
    assert (grammar.turn, grammar.ended) == (0, False)


@pytest.mark.parametrize("rule", ["match", "reject"])
def test_the_walk_stops_where_the_grammar_ends(rule: str) -> None:
    grammar: Constraint = Alternating(frozenset({1}), frozenset({2}), END)
    draft = Draft.chain([1, 2, END, 5])
    seen = {judged(draft, "hot, dense", [9], seed, rule, grammar)[0] for seed in range(300)}
    # The target's own end, at once; the draft's end, accepted, with nothing after it; another turn.
    assert seen == {Verdict((), (END,)), Verdict((0, 1, 2), (1, 2, END)), Verdict((0, 1), (1, 2, 1))}


def test_a_walk_forks_once_however_long_the_draft() -> None:
    grammar = Alternating(FIRST, SECOND)
    truth = constrained_plain("greedy", [9], 0, grammar, 6)
    grammar.forks.clear()
    verdict, _ = judged(Draft.chain(truth), "greedy", [9], 0, "match", grammar)
    assert len(verdict.path) == 6
    assert len(grammar.forks) == 1
