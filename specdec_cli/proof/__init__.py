"""The proof that drafted answers are the target's own: what `specdec verify` does.

```
 prompts ─┬─ greedy ─────── every prompt, plain and drafted, token by token ─────────────┐
          ├─ same_seed ──── temperature 1 under match: the same seed, the same tokens ───┤
          ├─ sampled ────── temperature 1: first tokens of many runs, a two-sample test ─┼─ ProofReport ─ document
          └─ rollback ───── logits after rejected tokens, against a context ─────────────┘
                            that never saw them
```

Everything runs through the `Subject`: the loaded engine, whose drafter is switched between plain and drafting, so
that weights are loaded once and a prompt is read once. `ties` tells a difference that rounding explains (the shape of
a batch changes the last bits of a logit) from one that it does not.

Judging itself is the room `verify/`; this one only watches from outside.
"""
