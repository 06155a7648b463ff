from __future__ import annotations

import math
from typing import Any

import pytest

from specdec_cli.errors import UsageProblem
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.sampling.validation import validate
from specdec_cli.settings import SamplingSettings

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"temperature": -1.0}, "--temp"),
    ({"temperature": math.nan}, "--temp"),
    ({"temperature": math.inf}, "--temp"),
    ({"top_k": -2}, "--top-k"),
    ({"top_p": 0.0}, "--top-p"),
    ({"top_p": 1.01}, "--top-p"),
    ({"top_p": math.nan}, "--top-p"),
    ({"min_p": 2.0}, "--min-p"),
    ({"min_p": -0.1}, "--min-p"),
    ({"typical_p": 0.0}, "--typical-p"),
    ({"repeat_penalty": 0.0}, "--repeat-penalty"),
    ({"repeat_penalty": -1.0}, "--repeat-penalty"),
    ({"repeat_penalty": 1e-300}, "--repeat-penalty"),
    ({"frequency_penalty": 1e300}, "--frequency-penalty"),
    ({"frequency_penalty": math.nan}, "--frequency-penalty"),
    ({"presence_penalty": math.inf}, "--presence-penalty"),
    ({"penalty_last_n": -2}, "--repeat-last-n"),
    ({"dry_multiplier": -0.5}, "--dry-multiplier"),
    ({"dry_base": 0.5}, "--dry-base"),
    ({"dry_allowed_length": -1}, "--dry-allowed-length"),
    ({"dry_penalty_last_n": -3}, "--dry-penalty-last-n"),
    ({"xtc_probability": 1.5}, "--xtc-probability"),
    ({"xtc_threshold": -0.1}, "--xtc-threshold"),
    ({"logit_bias": ((100, 1.0),)}, "token 100"),
    ({"logit_bias": ((-1, 1.0),)}, "token -1"),
    ({"logit_bias": ((3, math.nan),)}, "token 3"),
    ({"logit_bias": ((3, math.inf),)}, "token 3"),
]


@pytest.mark.parametrize(("values", "named"), REFUSED)
def test_a_value_out_of_range_is_named_in_one_line(values: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        Sampler(SamplingSettings(**values), 100)
    assert named in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"top_k": 0},
        {"top_k": -1},
        {"top_p": 1.0, "min_p": 0.0, "typical_p": 1.0},
        {"min_p": 1.0, "xtc_probability": 1.0, "xtc_threshold": 1.0},
        {"penalty_last_n": -1, "dry_penalty_last_n": 0, "dry_base": 1.0},
        {"logit_bias": ((99, -math.inf),)},
    ],
)
def test_values_at_the_edge_are_taken(values: dict[str, Any]) -> None:
    Sampler(SamplingSettings(**values), 100)


def test_token_ids_are_checked_once_the_vocabulary_is_known() -> None:
    settings = SamplingSettings(logit_bias=((10**6, 1.0),))
    validate(settings)
    with pytest.raises(UsageProblem, match="vocabulary of 100"):
        validate(settings, 100)
