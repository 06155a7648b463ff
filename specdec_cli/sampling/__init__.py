"""From the target's logits to the next token: one definition for plain decoding, drafting and judging.

    row of logits ── edits ──> chain ──> Distribution ──> race ──> token
                       │         │             │            │
            bias, penalties,   top-k …      the value     noise that belongs to
            DRY (history)      temperature  judges use    (seed, position, token)

Pure mathematics on numpy arrays. `Sampler` is the door; `RandomSource` is the only source of chance and
has no state: every number is addressed by its position in the text and its purpose. A grammar enters as
a `Constraint`, which masks the row before the chain.
"""
