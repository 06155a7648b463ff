"""Which models and pairs exist, where their files are, and how they get here.

```
models.toml ─┐                    path ──────────────► file
user's file ─┴► catalog ─ Pair ─► package (PyPI) ────► file, found without importing the package
                          │       derived ───────────► made once by llama.cpp, in our cache
 reference ──► resolve ◄──┘       hub ── in the Hub's cache? ► file
                                    └─ otherwise remote: header by range requests, or `pull`
```

- `catalog`: `models.toml` of the package, over it the user's own; frozen `Pair` and `ModelEntry` values.
- `sources`: the four places a model comes from, and finding the local ones.
- `derive`: a model made from another one, atomically.
- `resolve`: a reference as a person types it → `ResolvedModel`, without a network.
- `remote`, `download`: the only modules that talk to the Hub, through its own client (`hub.py`).
- `store`: what is here, how big, when last used; removing it.

Only `hub.py` and what imports it load `huggingface_hub`, and nothing here does so at import of the others.

Environment: `SPECDEC_CACHE` moves the cache (derived models, remote headers), `SPECDEC_CONFIG` the folder of
the user's `models.toml`. Hub variables (`HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN`, `HF_ENDPOINT`,
`HF_HUB_OFFLINE`) keep their meaning.
"""
