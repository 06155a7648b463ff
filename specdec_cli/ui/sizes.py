"""Sizes of files as people read them."""

from __future__ import annotations


def size_text(count: int) -> str:
    """As the Hub and disks count: `16.5 GB`, `806 MB`, `12 kB`."""
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
