"""How many threads to decode with.

More threads than cores is far worse than one too few: llama.cpp's threads spin at every barrier, and one that
waits for a core holds up all the others.
"""

from __future__ import annotations

from specdec_cli.hardware.system import SystemFacts, system_facts


def default_threads(facts: SystemFacts | None = None) -> int:
    """Physical cores of the fast kind, within affinity and container quota; at least one."""
    facts = facts or system_facts()
    return max(1, min(facts.performance_cores, int(facts.usable_cores)))
