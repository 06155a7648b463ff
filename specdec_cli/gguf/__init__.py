"""What a GGUF file says of a model: metadata, tensor table, vocabulary. No native library, no weights read.

    path ──────────── reader.read_header ──┐
    bytes somewhere ─ reader.parse_header ─┴─> header.ModelHeader (plain values, no open file)

The reader walks the header once, front to back, through a window that grows in steps (`source.py`): a remote
file costs its header and at most one step more. Every length and count is checked against the bytes that are
left before anything is allocated; arrays stay as they lie in the file and are decoded when asked for
(`metadata.py`), so a header costs a small multiple of its own size. What llama.cpp would refuse, misread or
abort on is refused here with one line and a code (`problems.py`). Models in several files are found from any of
them (`shards.py`).
"""
