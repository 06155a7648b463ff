"""The line after the answer: how much, how fast, and whether speculation was on and why."""

from __future__ import annotations

from specdec_cli.engine.statistics import Statistics


def summary_line(statistics: Statistics, tokens: int, seconds: float, state: str, reason: str) -> str:
    """One line; acceptance and tokens per round only where something was drafted."""
    speed = tokens / seconds if seconds > 0 else 0.0
    parts = [f"{tokens} tokens", f"{speed:.1f} tok/s"]
    if statistics.drafted:
        parts.append(f"{statistics.acceptance_rate:.0%} accepted")
        parts.append(f"{statistics.mean_tokens_per_round:.1f} per round")
    parts.append(f"speculation: {state} ({reason})")
    return " · ".join(parts)
