"""How much memory a pair takes, on which device, before anything is loaded. Pure; needs a header, no file.

    ModelHeader ─ read_shape ─> ModelShape ┐
    ContextSettings, rows ─────────────────┴─> ModelWish ─ place ─> Parts per device
                                                               │
    two wishes + hardware.Machine ─ plan_memory ───────────────┴─> MemoryPlan ─ memory_findings ─> findings

`cache.py` and `compute.py` hold the formulas; `architectures.py` what is known of each architecture. Where an
architecture is not known, nothing is guessed: `unknown` says why, and `llama/exact.py` asks llama.cpp itself.
"""
