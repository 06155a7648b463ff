"""llama.cpp's sampler chain as functions: candidates in, fewer candidates out.

The order, as in llama.cpp's `common` layer: logit bias, penalties, DRY (all three in `edits.py`), top-k,
typical-p, top-p, min-p, XTC, temperature. Arithmetic is float32 where llama.cpp's is, so that the sets agree
to the last candidate.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specdec_cli.sampling.candidates import Candidates, LogitRow, above, check_peak, keep, largest
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.settings import SamplingSettings

_FIRST_HANDFUL = 256
"""How many candidates top-p looks at first when top-k is off."""


def run_chain(row: LogitRow, settings: SamplingSettings, chance: float) -> Candidates:
    """Everything from top-k to XTC over one row of edited logits.

    `chance`: the uniform number that decides whether XTC strikes.
    """
    if settings.top_k > 0:
        candidates = largest(row, settings.top_k)
    else:
        check_peak(float(row.max()))
        candidates = Candidates(None, row)
    if settings.typical_p < 1:
        candidates = typical(candidates, settings.typical_p)
    if settings.top_p < 1:
        candidates = top_p(candidates, settings.top_p)
    if settings.min_p > 0:
        candidates = min_p(candidates, settings.min_p)
    if xtc_is_on(settings) and chance <= settings.xtc_probability:
        candidates = xtc(candidates, settings.xtc_threshold)
    return candidates


def xtc_is_on(settings: SamplingSettings) -> bool:
    """XTC needs a probability, and a threshold that two tokens can reach at once."""
    return settings.xtc_probability > 0 and settings.xtc_threshold <= 0.5


def typical(candidates: Candidates, mass: float) -> Candidates:
    """Locally typical sampling (Meister et al., 2022): the tokens whose surprise is nearest to the entropy.

    Tokens join by growing distance |-log p - entropy| until their sum is greater than `mass`.
    """
    ordered = (
        candidates if candidates.tokens is not None else largest(candidates.logits, len(candidates.logits))
    )
    probabilities = softmax32(ordered.logits)
    with np.errstate(divide="ignore"):
        surprise = -np.log(probabilities)
    positive = probabilities > 0
    entropy = np.sum(probabilities[positive] * surprise[positive], dtype=np.float32)
    nearest_first = np.argsort(np.abs(surprise - entropy), kind="stable")
    running = np.cumsum(probabilities[nearest_first], dtype=np.float32)
    count = int(np.searchsorted(running, np.float32(mass), side="right")) + 1
    return keep(ordered, np.sort(nearest_first[:count]))


def top_p(candidates: Candidates, mass: float) -> Candidates:
    """Nucleus sampling (Holtzman et al., 2020): the most likely tokens until their sum reaches `mass`."""
    if candidates.tokens is not None:
        running = np.cumsum(softmax32(candidates.logits), dtype=np.float32)
        return keep(candidates, slice(int(np.searchsorted(running, np.float32(mass))) + 1))
    row = candidates.logits
    peak = row.max()
    total = np.sum(np.exp(row - peak), dtype=np.float64)
    count = _FIRST_HANDFUL
    while True:
        ordered = largest(row, count)
        running = np.cumsum(np.exp(ordered.logits - peak) / total, dtype=np.float64)
        if running[-1] >= mass or count >= len(row):
            return keep(ordered, slice(int(np.searchsorted(running, mass)) + 1))
        count *= 16


def min_p(candidates: Candidates, ratio: float) -> Candidates:
    """The tokens at least `ratio` times as likely as the most likely one."""
    margin = np.float32(np.log(np.float32(ratio)))
    if candidates.tokens is None:
        return above(candidates.logits, candidates.logits.max() + margin)
    reached = candidates.logits >= candidates.logits[0] + margin
    reached[0] = True
    return keep(candidates, reached)


def xtc(candidates: Candidates, threshold: float) -> Candidates:
    """Exclude top choices: of the tokens at or above `threshold`, only the least likely stays."""
    probabilities = softmax32(candidates.logits)
    limit = np.float32(threshold)
    if candidates.tokens is not None:
        excluded = int(np.count_nonzero(probabilities >= limit)) - 1
        return keep(candidates, slice(excluded, None)) if excluded > 0 else candidates
    likely = np.flatnonzero(probabilities >= limit)
    if len(likely) < 2:
        return candidates
    row = candidates.logits.copy()
    row[likely[np.argsort(-probabilities[likely], kind="stable")[:-1]]] = -np.inf
    return Candidates(None, row)


def with_temperature(candidates: Candidates, temperature: float) -> Distribution:
    """The softmax of logits / temperature; at temperature 0, all on the largest."""
    tokens, logits = candidates
    if temperature == 0:
        best = int(np.argmax(logits))
        return Distribution.point_mass(best if tokens is None else int(tokens[best]))
    scaled = logits if temperature == 1 else logits / np.float32(temperature)
    weights = np.exp(scaled - scaled.max())
    total = np.sum(weights, dtype=np.float64)
    return Distribution(tokens=tokens, probabilities=np.divide(weights, total, dtype=np.float64))


def softmax32(logits: LogitRow) -> npt.NDArray[np.float32]:
    """Softmax in float32, summed in order as llama.cpp sums when there are few."""
    weights = np.exp(logits - logits.max())
    few = len(weights) <= _FIRST_HANDFUL
    total = np.cumsum(weights)[-1] if few else np.float32(np.sum(weights, dtype=np.float64))
    return np.asarray(weights / total)
