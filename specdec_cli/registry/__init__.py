"""Which models and pairs exist, where their files are, and how they get here.

```
models.toml ─┐                    path ──────────────► file
user's file ─┴► catalog ─ Pair ─► package (PyPI) ────► file, found without importing the package
                          │       derived ───────────► made once by llama.cpp, in our cache
 reference ──► resolve ◄──┘       hub ── in the Hub's cache? ► file
                                    └─ otherwise remote: header by range requests, or `pull`
```

- `catalog` (`catalog_file`, `catalog_models`): `models.toml` of the package, over it the user's own; frozen values.
- `sources`: the four places a model comes from. `resolve`: a reference as typed → `ResolvedModel`, no network.
- `derive`: a model made from another one, atomically. `sketch`, `expected_header`: headers of files not seen yet.
- `hub`, `hub_errors`: the Hub through its own client. `remote`, `kept_headers`: headers by range requests, kept.
- `download`, `fetch`: `pull`: resumed after a kill, verified, then linked into the Hub's ordinary cache.
- `store`, `removal`, `records`: what is here, who fetched it, when it was last used; removing it.
- `tuned`: what `specdec tune` found best for a pair on this machine.

`hub`, `hub_errors`, `remote`, `fetch` and `download` load `huggingface_hub`; the others must not: models that are here
work without it. Every error has a code of `problems.py`.

Environment: `SPECDEC_CACHE` moves the cache (derived models, remote headers), `SPECDEC_CONFIG` the folder of
the user's `models.toml`. Hub variables (`HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN`, `HF_ENDPOINT`,
`HF_HUB_OFFLINE`) keep their meaning.
"""
