"""Telling rounding from a mistake.

The same row of logits, computed alone or beside others, differs in its last bits: the sums run in another order.
Where two tokens are that close, either is the most likely one, and lossless decoding may answer with either. How
large the effect is depends on the machine, the build and the quantization, so it is measured, not assumed: by how
much the distances between likely tokens change from one row at a time to several. (A change that all logits of a row
share changes no choice.) A few hundred distances are measured, where thousands of tokens are compared, so a larger
change than the largest seen is to be expected now and then: a tie is what is closer than twice that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import cycle

import numpy as np
import numpy.typing as npt

from specdec_cli.proof.report import Difference
from specdec_cli.proof.subject import Subject
from specdec_cli.protocols import Logits, ModelContext
from specdec_cli.sampling.candidates import LogitRow

LEAST_THRESHOLD = 1e-4
"""Where batches change nothing, logits of a few dozen still carry the rounding of float32."""
MOST_THRESHOLD = 1.0
"""Logits further apart than this are never a tie, however noisy the machine: one token is 2.7 times as likely."""
_MARGIN = 2
_LIKELY = 10
_MEASURED_TOKENS = 24
_SHARED_TEXT = 24
_FAR = 64.0


class Noise:
    """Measures how much the shape of a batch changes logits, and knows from then on what a tie is."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.largest = 0.0
        """The largest change so far of the distance between the likeliest token and another likely one."""

    @property
    def threshold(self) -> float:
        """Logits closer than this are a tie."""
        return tie_threshold(self.largest)

    def judged(self, difference: Difference) -> Difference:
        """The difference with its verdict, after all that was measured until now."""
        return replace(difference, verdict="tie" if difference.gap <= self.threshold else "different")

    def measure(self, prompt: Sequence[int], answer: Sequence[int]) -> None:
        """Decode the beginning of an answer one row at a time, and as batches of every size a round may have."""
        session = self._subject.engine.session
        self._subject.start(prompt)
        tokens = [prompt[-1], *answer[:_MEASURED_TOKENS]][: session.target.n_ctx - len(prompt) + 1]
        _rows, change = rows_and_noise(session.target, len(prompt) - 1, tokens)
        session.settle()
        self.largest = max(self.largest, change)


def rows_and_noise(context: ModelContext, start: int, tokens: Sequence[int]) -> tuple[Logits, float]:
    """Logits after each of `tokens`, decoded one by one from position `start` on, shape (tokens, vocabulary); and by
    how much distances between likely tokens change when they are decoded in batches of every size a round may have."""
    alone = _rows_in_batches(context, start, tokens, [1])
    together = _rows_in_batches(context, start, tokens, range(2, context.max_rows + 1))
    return alone, change_of_distances(alone, together)


def tie_threshold(largest_change: float) -> float:
    """Logits closer than this are a tie, where the shape of a batch was seen to change distances by so much."""
    return min(max(_MARGIN * largest_change, LEAST_THRESHOLD), MOST_THRESHOLD)


def largest_change(first: npt.NDArray[np.float32], second: npt.NDArray[np.float32]) -> float:
    """The largest difference between two arrays of logits; logits of minus infinity in both are the same."""
    changed = first != second
    return float(np.max(np.abs(first[changed] - second[changed]), initial=0.0))


def change_of_distances(alone: Logits, together: Logits) -> float:
    """The largest change, over all rows, of the distance between the likeliest token and one of the next nine."""
    count = min(_LIKELY, alone.shape[1])
    likely = np.argpartition(-alone, count - 1, axis=1)[:, :count]
    best = alone.argmax(axis=1)[:, np.newaxis]
    before, after = (
        np.take_along_axis(rows, best, axis=1) - np.take_along_axis(rows, likely, axis=1)
        for rows in (alone, together)
    )
    return largest_change(before, after)


def logit_gap(row: LogitRow, first: int, second: int, choose: Callable[[LogitRow], int]) -> float:
    """How far two tokens are apart for a choice: by how much logits must move against each other to turn it.

    Greedy: the difference of the two logits. Sampling: the same, with the chance that belongs to each token at this
    position taken in; and where top-k, top-p or min-p keeps a token out, the distance from that edge. When the
    choice is neither of the two, that of the one further away from it. Infinite for a token that can never be
    chosen.
    """
    return max(_shift_to(row, first, choose), _shift_to(row, second, choose))


def describe(
    subject: Subject,
    noise: Noise,
    *,
    number: int,
    kind: str,
    prompt: Sequence[int],
    expected: Sequence[int],
    found: Sequence[int],
    seed: int | None = None,
) -> Difference | None:
    """The first difference between two answers to the prompt with this number (from 1); None: there is none.

    Measures the noise at this place too.
    """
    first = first_difference(expected, found)
    if first is None:
        return None
    shared = expected[:first]
    text = [*prompt, *shared]
    gap = float("inf")
    if first < min(len(expected), len(found)):
        with subject.fresh_target() as context:
            row = context.decode(text, 1)[0]
            session = subject.engine.session
            gap = logit_gap(
                row,
                expected[first],
                found[first],
                lambda moved: session.sampler.choose(moved, text, session.random),
            )
        noise.measure(prompt, expected)
    difference = Difference(
        prompt=number,
        kind=kind,
        position=first + 1,
        before=subject.text_of(shared)[-_SHARED_TEXT:],
        expected=subject.show(expected[first]) if first < len(expected) else None,
        found=subject.show(found[first]) if first < len(found) else None,
        gap=gap,
        verdict="different",
        seed=seed,
    )
    return noise.judged(difference)


def first_difference(first: Sequence[int], second: Sequence[int]) -> int | None:
    """Index of the first token in which two answers differ; the length of the shorter one when it is the other's
    beginning; None when they are the same."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return None if len(first) == len(second) else min(len(first), len(second))


def _rows_in_batches(
    context: ModelContext, start: int, tokens: Sequence[int], sizes: Iterable[int]
) -> Logits:
    """Logits after each of `tokens`, decoded from position `start` on in batches of `sizes`, in turn."""
    context.cut(start)
    rows: list[Logits] = []
    done = 0
    for size in cycle(sizes):
        batch = tokens[done : done + size]
        if not batch:
            return np.concatenate(rows)
        rows.append(context.decode(batch, len(batch)).copy())
        done += size
    raise AssertionError("no sizes")


def _shift_to(row: LogitRow, wanted: int, choose: Callable[[LogitRow], int]) -> float:
    """The least shift with which `wanted` is the choice; 0 when it is already.

    Its logit goes up and others go down, each by half of the shift: the present choice alone, which may push that
    over an edge; or with it everything that is more likely, which may lift `wanted` over an edge.
    """
    chosen = choose(row)
    if chosen == wanted:
        return 0.0
    alone = np.arange(len(row)) == chosen
    return min(_turning(row, wanted, down, choose) for down in (alone, alone | (row > row[wanted])))


def _turning(
    row: LogitRow, wanted: int, down: npt.NDArray[np.bool_], choose: Callable[[LogitRow], int]
) -> float:
    def turns(shift: float) -> bool:
        moved = row.copy()
        moved[down] -= shift / 2
        moved[wanted] += shift / 2
        return choose(moved) == wanted

    low, high = 0.0, _FAR
    if not turns(high):
        return float("inf")
    while high - low > 1e-6 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if turns(middle) else (middle, high)
    return high
