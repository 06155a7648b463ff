from __future__ import annotations

from specdec_cli.draft.fallback import FallbackDrafter
from specdec_cli.draft.model import ModelDrafter
from specdec_cli.draft.ngram import NgramDrafter
from specdec_cli.draft.values import Budget, Draft, Outcome
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from tests.support.toy import N_VOCAB, ToyContext, table_logits

REPEATING = [1, 2, 3, 4, 1, 2, 3]
NEW = [5, 6, 7]


def both(context: ToyContext) -> FallbackDrafter:
    settings = SamplingSettings()
    model = ModelDrafter(
        context,
        sampler=Sampler(settings, N_VOCAB),
        random=RandomSource(0),
        rule="match",
        target_n_vocab=N_VOCAB,
    )
    return FallbackDrafter([NgramDrafter(), model])


def test_the_first_with_a_draft_is_asked_no_further() -> None:
    context = ToyContext(table_logits(1))
    drafter = both(context)
    drafter.begin(REPEATING)
    decoded = len(context.decoded)
    draft = drafter.propose(Budget(2))
    assert (draft.source, draft.tokens) == ("ngram", (4, 1))
    assert len(context.decoded) == decoded


def test_the_second_steps_in_and_its_outcome_reaches_it() -> None:
    context = ToyContext(table_logits(1))
    drafter = both(context)
    drafter.begin(NEW)
    draft = drafter.propose(Budget(3))
    assert draft.source == "model"
    assert drafter.seconds > 0
    own = (draft.tokens[1] + 1) % N_VOCAB
    drafter.accept(Outcome(draft, (0,), (draft.tokens[0], own)))
    assert context.tokens == [*NEW, draft.tokens[0]]


def test_all_follow_the_text() -> None:
    context = ToyContext(table_logits(1))
    drafter = both(context)
    drafter.begin(REPEATING)
    draft = drafter.propose(Budget(2))
    drafter.accept(Outcome(draft, (0, 1), (*draft.tokens, 9)))
    drafter.observe([8, 20, 21])
    context.decoded.clear()
    assert drafter.propose(Budget(1)).source == "model"
    assert context.decoded == [3, 4, 1, 9, 8, 20, 21]
    drafter.observe([8, 20])
    assert drafter.propose(Budget(1)).tokens == (21,)


def test_nothing_to_offer_is_an_empty_draft() -> None:
    drafter = FallbackDrafter([NgramDrafter()])
    drafter.begin(NEW)
    assert drafter.propose(Budget(4)) == Draft()
    drafter.accept(Outcome(Draft(), (), (5,)))
    assert drafter.notice is None


def test_a_notice_is_passed_on_and_closing_closes_all() -> None:
    context = ToyContext(table_logits(1), n_ctx=3)
    drafter = both(context)
    drafter.begin([5, 6, 7, 8, 9])
    drafter.propose(Budget(2))
    assert drafter.notice is not None
    drafter.close()
    assert context.closed
