"""Whole generations enumerated: the text that comes out has exactly the target's distribution.

A vocabulary of three tokens, target and draft tables that depend on the text, rounds of judging until three
tokens are out. The checker is tried on judges and drafters that are wrong, and must catch each of them.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest

from specdec_cli.draft.values import Draft
from specdec_cli.sampling.constraint import Constraint
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from specdec_cli.verify import prune as prune_module
from specdec_cli.verify import walk
from specdec_cli.verify.prune import prune
from specdec_cli.verify.walk import Verdict, judge
from tests.support.enumeration import Script, outcomes

N_VOCAB = 3
LENGTH = 3
ALL_OFF = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
SAMPLERS = {
    "plain": ALL_OFF,
    "top-k 2": SamplingSettings(temperature=0.7, top_k=2, top_p=1.0, min_p=0.0),
    "penalties": SamplingSettings(
        temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, repeat_penalty=1.4, presence_penalty=0.5
    ),
}
Drafter = Callable[[Script, Sequence[int]], Draft]


def logits_after(seed: int, text: Sequence[int]) -> np.ndarray:
    key = [seed, *(token + 1 for token in text)]
    return np.random.default_rng(key).normal(0, 1.2, N_VOCAB).astype(np.float32)


def target_rows(text: Sequence[int], draft: Draft) -> np.ndarray:
    paths = [list(text)]
    for token, parent in zip(draft.tokens, draft.parents, strict=True):
        paths.append([*paths[parent + 1], token])
    return np.array([logits_after(1, path) for path in paths])


def proposal_after(text: Sequence[int]) -> Distribution:
    return Sampler(ALL_OFF, N_VOCAB).distribution(logits_after(2, text), text)


Grammar = Callable[[Sequence[int]], Constraint | None]


def no_grammar(text: Sequence[int]) -> None:
    return None


def never_twice_the_same(text: Sequence[int]) -> Constraint | None:
    """Only token 0 may follow itself."""
    return NeverTwice(text[-1] if text else -1)


@dataclass
class NeverTwice:
    last: int
    ended: bool = False

    def allowed(self, tokens: np.ndarray) -> np.ndarray:
        return (tokens != self.last) | (tokens == 0)

    def accept(self, token: int) -> None:
        self.last = token

    def fork(self) -> NeverTwice:
        return NeverTwice(self.last)


def output(
    sampler: Sampler,
    drafter: Drafter,
    rule: walk.Rule = "reject",
    grammar: Grammar = no_grammar,
) -> dict[tuple[int, ...], float]:
    """Text of LENGTH tokens to its probability: each round is enumerated once for each text it starts from."""
    unfinished: dict[tuple[int, ...], float] = {(): 1.0}
    finished: dict[tuple[int, ...], float] = defaultdict(float)
    while unfinished:
        text = min(unfinished, key=len)
        weight = unfinished.pop(text)

        def one_round(script: Script, text: tuple[int, ...] = text) -> tuple[int, ...]:
            draft = drafter(script, text)
            rows = target_rows(text, draft)
            return judge(rows, draft, sampler, text, RandomSource(0), rule, grammar(text)).tokens

        for tokens, probability in outcomes(one_round).items():
            longer = (text + tokens)[:LENGTH]
            where = finished if len(longer) == LENGTH else unfinished
            where[longer] = where.get(longer, 0.0) + weight * probability
    return finished


def expected(sampler: Sampler, grammar: Grammar) -> dict[tuple[int, ...], float]:
    result = {}
    for text in itertools.product(range(N_VOCAB), repeat=LENGTH):
        result[text] = 1.0
        for place, token in enumerate(text):
            before = text[:place]
            row = logits_after(1, before)
            here = sampler.distribution(row, before, constraint=grammar(before))
            result[text] *= here.probability(token)
            if result[text] == 0:
                break
    return result


def distance(
    sampler: Sampler,
    drafter: Drafter,
    rule: walk.Rule = "reject",
    grammar: Grammar = no_grammar,
) -> float:
    """The largest difference between the probability of a text and what it should be."""
    found, wanted = output(sampler, drafter, rule, grammar), expected(sampler, grammar)
    assert set(found) <= set(wanted)
    return max(abs(found.get(text, 0.0) - wanted[text]) for text in wanted)


def chain_of_two(script: Script, text: Sequence[int]) -> Draft:
    tokens: list[int] = []
    distributions = []
    for _ in range(2):
        distributions.append(proposal_after([*text, *tokens]))
        tokens.append(script.draw(distributions[-1]))
    return Draft.chain(tokens, distributions=distributions)


def sometimes_short(script: Script, text: Sequence[int]) -> Draft:
    """Goes on only after a token it is sure of, which is kept either way."""
    first = proposal_after(text)
    token = script.draw(first)
    if first.probability(token) < 0.4:
        return Draft.chain([token], distributions=[first])
    second = proposal_after([*text, token])
    return Draft.chain([token, script.draw(second)], distributions=[first, second])


def two_siblings(script: Script, text: Sequence[int]) -> Draft:
    """Two independent candidates, which may be the same token twice, and one after the first."""
    at_root, below = proposal_after(text), None
    tokens = [script.draw(at_root), script.draw(at_root)]
    below = proposal_after([*text, tokens[0]])
    return Draft((*tokens, script.draw(below)), (-1, -1, 0), (at_root, at_root, below))


def without_replacement(script: Script, text: Sequence[int]) -> Draft:
    """Two different candidates: the second is drawn from what the first leaves, and says so."""
    at_root = proposal_after(text)
    first = script.draw(at_root)
    left = at_root.probabilities.copy()
    left[first] = 0
    others = Distribution(None, left / left.sum())
    return Draft((first, script.draw(others)), (-1, -1), (at_root, others))


def deterministic_tree(script: Script, text: Sequence[int]) -> Draft:
    token = len(text) % N_VOCAB
    return Draft((token, (token + 1) % N_VOCAB, 2, 0), (-1, -1, 0, 1))


def deterministic_chain(script: Script, text: Sequence[int]) -> Draft:
    return Draft.chain([1, 2])


def nothing(script: Script, text: Sequence[int]) -> Draft:
    return Draft()


DRAFTERS: dict[str, Drafter] = {
    drafter.__name__: drafter
    for drafter in (
        chain_of_two,
        sometimes_short,
        two_siblings,
        without_replacement,
        deterministic_tree,
        deterministic_chain,
        nothing,
    )
}


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("settings", SAMPLERS)
def test_reject_gives_exactly_the_target(drafter: str, settings: str) -> None:
    assert distance(Sampler(SAMPLERS[settings], N_VOCAB), DRAFTERS[drafter]) < 1e-9


@pytest.mark.parametrize("drafter", ["chain_of_two", "deterministic_tree"])
def test_match_gives_exactly_the_target(drafter: str) -> None:
    assert distance(Sampler(SAMPLERS["penalties"], N_VOCAB), DRAFTERS[drafter], "match") < 1e-9


def pruned(drafter: Drafter) -> Drafter:
    def prune_it(script: Script, text: Sequence[int]) -> Draft:
        grammar = never_twice_the_same(text)
        assert grammar is not None
        return prune(drafter(script, text), grammar)

    return prune_it


@pytest.mark.parametrize("drafter", ["chain_of_two", "two_siblings", "deterministic_tree"])
@pytest.mark.parametrize("cut", [False, True])
def test_reject_under_a_grammar_gives_exactly_the_constrained_target(drafter: str, cut: bool) -> None:
    drafts = pruned(DRAFTERS[drafter]) if cut else DRAFTERS[drafter]
    assert distance(Sampler(ALL_OFF, N_VOCAB), drafts, "reject", never_twice_the_same) < 1e-9


# Wrong on purpose: the checker must see each of them.


def merging_duplicates(script: Script, text: Sequence[int]) -> Draft:
    draft = two_siblings(script, text)
    if draft.tokens[0] != draft.tokens[1]:
        return draft
    assert draft.distributions is not None
    return Draft.chain(
        [draft.tokens[0], draft.tokens[2]], distributions=[draft.distributions[0], draft.distributions[2]]
    )


def dropping_what_it_is_unsure_of(script: Script, text: Sequence[int]) -> Draft:
    draft = chain_of_two(script, text)
    assert draft.distributions is not None
    sure = draft.distributions[0].probability(draft.tokens[0]) >= 0.4
    return draft if sure else Draft()


def claiming_another_distribution(script: Script, text: Sequence[int]) -> Draft:
    draft = chain_of_two(script, text)
    return Draft.chain(draft.tokens, distributions=[Distribution(None, np.full(N_VOCAB, 1 / N_VOCAB))] * 2)


@pytest.mark.parametrize(
    "drafter", [merging_duplicates, dropping_what_it_is_unsure_of, claiming_another_distribution]
)
def test_a_drafter_that_breaks_the_contract_is_caught(drafter: Drafter) -> None:
    assert distance(Sampler(ALL_OFF, N_VOCAB), drafter) > 1e-3


def test_cutting_a_sampled_draft_without_saying_so_is_caught() -> None:
    with mock.patch.object(prune_module, "restrict", lambda distribution, constraint: distribution):
        wrong = distance(Sampler(ALL_OFF, N_VOCAB), pruned(chain_of_two), "reject", never_twice_the_same)
    assert wrong > 1e-3


def test_a_judge_that_accepts_one_token_too_many_is_caught() -> None:
    true_judge = judge

    def generous(rows: np.ndarray, draft: Draft, *rest: object) -> Verdict:
        verdict = true_judge(rows, draft, *rest)  # type: ignore[arg-type]
        if len(verdict.path) == len(draft):
            return verdict
        tokens = (*verdict.tokens[:-1], draft.tokens[len(verdict.path)])
        return Verdict((*verdict.path, len(verdict.path)), tokens)

    with mock.patch(f"{__name__}.judge", generous):
        assert distance(Sampler(ALL_OFF, N_VOCAB), chain_of_two) > 1e-2
    assert distance(Sampler(ALL_OFF, N_VOCAB), chain_of_two) < 1e-9


def test_a_judge_that_forgets_the_residual_is_caught() -> None:
    with mock.patch.object(walk, "residual", lambda target, proposal: target):
        assert distance(Sampler(ALL_OFF, N_VOCAB), chain_of_two) > 1e-2


def test_a_judge_that_accepts_by_the_target_alone_is_caught() -> None:
    by_target = mock.patch.object(
        walk, "acceptance_probability", lambda target, proposal, token: target.probability(token)
    )
    with by_target:
        assert distance(Sampler(ALL_OFF, N_VOCAB), chain_of_two) > 1e-2
