"""llama.cpp, through llama-cpp-python's low-level ctypes functions: the only room that imports `llama_cpp`.

    backend.py  LlamaBackend: load, quantize, what it computes on
    model.py    LlamaModel: weights and vocabulary
    context.py  LlamaContext: one KV cache, decode and cut
    text.py     LlamaText: text ↔ tokens, whole pieces however long
    grammar.py  LlamaConstraint: what a grammar allows next
    log.py      llama.cpp's log lines, sent to our logger and kept for error messages
    native.py   the lazy import, once

Everything that enters C is validated first: a native abort would take the process with it.
"""
