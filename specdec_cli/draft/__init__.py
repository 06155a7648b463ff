"""Drafters, and the policy that decides when, with which and how far to draft.

A drafter follows the text (`begin`, `observe`, `accept`) and proposes a `Draft` within a `Budget`. The contract is
in `values.py`; the drafters by name are in `catalog.py`.

    plain.py      none     proposes nothing
    ngram.py      ngram    copies what followed the longest earlier match of the text's end (ngram_index.py)
    model.py      model    decodes with a small model; its cache follows the text with a lag
    forced.py     grammar  under a grammar, the text that must come next (pieces.py: how tokens can write it)
    fallback.py            the first of several that has something to offer
    policy.py     auto     wraps any of them

How the policy thinks, round by round:

    profile (costs.py: seconds for n rows; calibration.py measures it, profile_store.py keeps it)
       │            acceptance (acceptance.py: chance to be right, by confidence and position)
       ▼                 ▼
    planning.py: expected tokens - rate * seconds, solved backwards  ──►  thresholds: go on while survival > t[i]
       ▼
    arms.py: free drafters are asked in every round; one that decodes only when a draft is expected to pay,
             or when probing.py says it is time to look again
       ▼
    the draft worth most, cut to its best length, or none; the outcome teaches profile and acceptance

Every draft teaches, verified or not: the tokens that the target commits tell whether the first ones were right.
Nothing here knows llama.cpp.
"""
