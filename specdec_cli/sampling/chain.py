"""llama.cpp's sampler chain as functions: candidates in, fewer candidates out.

The order, as in llama.cpp's `common` layer: logit bias, penalties, DRY (all three in `edits.py`), top-k,
typical-p, top-p, min-p, XTC, temperature. Where there are few candidates the arithmetic is float32 in
llama.cpp's own order, so that the sets agree to the last candidate; over whole rows sums are float64.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specdec_cli.sampling.candidates import Candidates, LogitRow, Values, check_peak, largest
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.settings import SamplingSettings

_HANDFUL = 256
"""How many candidates top-p sorts before it gives up and sorts all. Also what counts as few."""


def run_chain(candidates: Candidates, settings: SamplingSettings, chance: float) -> Candidates:
    """Everything from typical-p to XTC over what top-k left.

    `chance`: the uniform number that decides whether XTC strikes.
    """
    if settings.typical_p < 1:
        candidates = typical(candidates, settings.typical_p)
    if settings.top_p < 1:
        candidates = top_p(candidates, settings.top_p)
    if settings.min_p > 0:
        candidates = min_p(candidates, settings.min_p)
    if xtc_is_on(settings) and chance <= settings.xtc_probability:
        candidates = xtc(candidates, settings.xtc_threshold)
    return candidates


def top_k(row: LogitRow, count: int) -> Candidates:
    """The `count` most likely tokens; the whole row when `count` is 0 or less."""
    if count > 0:
        return Candidates(None, row).kept(largest(row, count), descending=True)
    check_peak(float(row.max()))
    return Candidates(None, row)


def xtc_is_on(settings: SamplingSettings) -> bool:
    """XTC needs a probability, and a threshold that two tokens can reach at once."""
    return settings.xtc_probability > 0 and settings.xtc_threshold <= 0.5


def typical(candidates: Candidates, mass: float) -> Candidates:
    """Locally typical sampling (Meister et al., 2022): the tokens whose surprise is nearest to the entropy.

    Tokens join by growing distance |-log p - entropy| until their sum is greater than `mass`.
    """
    # log p is the logit and a constant, and the entropy is the mean of -log p: the distance is that of a
    # logit from the mean logit. (The floor keeps impossible tokens out of the mean and far from it.)
    shifted = np.maximum(candidates.logits - candidates.logits.max(), np.float32(-1e4))
    probabilities = _softmax(shifted)
    nearness = -np.abs(shifted - np.dot(probabilities, shifted).astype(np.float32))
    limit = probabilities.dtype.type(mass)
    for handful in (_HANDFUL, len(nearness)):
        nearest_first = largest(nearness, handful)
        running = np.cumsum(probabilities[nearest_first])
        if running[-1] > limit:
            break
    count = int(np.searchsorted(running, limit, side="right")) + 1
    return candidates.kept(np.sort(nearest_first[:count]))


def top_p(candidates: Candidates, mass: float) -> Candidates:
    """Nucleus sampling (Holtzman et al., 2020): the most likely tokens until their sum reaches `mass`."""
    probabilities = _softmax(candidates.logits)
    limit = probabilities.dtype.type(mass)
    if candidates.descending:
        count = int(np.searchsorted(np.cumsum(probabilities), limit)) + 1
        return candidates.kept(np.arange(min(count, len(probabilities))))
    order = largest(candidates.logits, _HANDFUL)
    running = np.cumsum(probabilities[order])
    if running[-1] >= limit:
        return candidates.kept(order[: int(np.searchsorted(running, limit)) + 1], descending=True)
    return candidates.kept(_wide_nucleus(probabilities, float(limit)))


def _wide_nucleus(probabilities: Values, limit: float) -> npt.NDArray[np.intp]:
    """Top-p of a flat distribution, as indices in ascending order: values are sorted, tokens are not."""
    falling = np.sort(probabilities)[::-1]
    count = min(int(np.searchsorted(np.cumsum(falling), limit)) + 1, len(falling))
    least = falling[count - 1]
    surely = np.flatnonzero(probabilities > least)
    tied = np.flatnonzero(probabilities == least)[: count - len(surely)]
    return np.sort(np.concatenate((surely, tied)))


def min_p(candidates: Candidates, ratio: float) -> Candidates:
    """The tokens at least `ratio` times as likely as the most likely one."""
    logits = candidates.logits
    bound = logits.max() + np.log(np.float32(ratio))
    return candidates.kept(np.flatnonzero(logits >= bound))


def xtc(candidates: Candidates, threshold: float) -> Candidates:
    """Exclude top choices: of the tokens at or above `threshold`, only the least likely stays."""
    probabilities = _softmax(candidates.logits)
    likely = np.flatnonzero(probabilities >= probabilities.dtype.type(threshold))
    if len(likely) < 2:
        return candidates
    excluded = likely[np.argsort(-probabilities[likely], kind="stable")[:-1]]
    stays = np.ones(len(probabilities), dtype=bool)
    stays[excluded] = False
    return candidates.kept(np.flatnonzero(stays))


def with_temperature(candidates: Candidates, temperature: float) -> Distribution:
    """The softmax of logits / temperature; at temperature 0, all on the largest."""
    tokens, logits = candidates.tokens, candidates.logits
    if temperature == 0:
        best = int(np.argmax(logits))
        return Distribution.point_mass(best if tokens is None else int(tokens[best]))
    shifted = logits - logits.max()
    if temperature != 1:
        # However low the temperature: 0 / t stays 0, and what overflows is -inf.
        with np.errstate(over="ignore"):
            shifted /= max(np.float32(temperature), np.finfo(np.float32).tiny)
    weights = np.exp(shifted)
    total = np.sum(weights, dtype=np.float64)
    return Distribution(tokens=tokens, probabilities=np.divide(weights, total, dtype=np.float64))


def _softmax(logits: LogitRow) -> Values:
    """Softmax: float32 and summed one by one when there are few, as llama.cpp does; else float64."""
    weights = np.exp(logits - logits.max())
    if len(weights) <= _HANDFUL:
        return np.asarray(weights / np.cumsum(weights)[-1])
    return np.asarray(np.divide(weights, np.sum(weights, dtype=np.float64), dtype=np.float64))
