"""Judging: what the target makes of a draft, as pure mathematics on arrays and one random source.

`walk.judge` walks a tree of candidates from the pending token down; a chain is the tree without branches.
`rejection` holds the two functions that make *reject* lossless; `prune` cuts from a draft what a grammar
forbids without making it lossy. Nothing here decodes or remembers.
"""
