"""How many CPU threads to decode with."""

from __future__ import annotations

import os


def default_threads() -> int:
    """Physical cores, within what this process may use. Never less than 1."""
    import psutil

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    physical = psutil.cpu_count(logical=False) or usable
    return max(1, min(physical, usable))
