"""Plain against speculative decoding on this machine: paired, interleaved, on fresh prompts.

```
 prompts/*.toml ─ tasks ─┐
 --drafters ─ variants ──┴─ schedule ─ blocks: one prompt, every variant, in rotating order
                                         │
 KeptModels (weights stay loaded) ─ Rig ─┴─ measure ─▶ Sample per run, RoundRecord per round
                                                          │
        statistics, agreement, foresight ─ report ─▶ BenchReport ─▶ table (ui) · document (JSON) · page (HTML)
```

A block is what makes a pair: all its variants answer the same prompt shortly after one another, so other load
on the machine hits them alike. A speed-up is the geometric mean of the ratios within blocks; its interval comes
from Student's t on their logarithms. Answers are greedy, and compared token by token.

`Rig` runs variants through `assemble`, exactly as `specdec run` does; only the weights are kept between them.
`tuning` is a series of such benches that ends in defaults for this machine (`specdec_cli.registry.tuned`).
"""
