"""Sentences about a turn and about the engine."""

from __future__ import annotations

from specdec_cli.assemble import Engine
from specdec_cli.chat.context_budget import Meter
from specdec_cli.chat.conversation import Figures
from specdec_cli.ui.chat_text import figures_line, meter_text


def turn_line(figures: Figures, meter: Meter, engine: Engine) -> str:
    """The dim line under an answer."""
    return figures_line(
        tokens=figures.tokens,
        tokens_per_second=figures.tokens_per_second,
        acceptance=figures.accepted / figures.drafted if figures.drafted else None,
        gain=figures.gain,
        speculation=speculation_text(engine),
        context=meter_text(meter.used, meter.size),
    )


def speculation_text(engine: Engine) -> str:
    """Who drafts, or why nobody does: short enough for one of several parts of a line. `/spec` says more."""
    state, drafter = engine.speculation, engine.drafting.drafter
    if state == "off":
        return f"speculation off ({engine.off_reason})"
    return f"speculation {state} ({drafter})" if drafter != state else f"speculation {state}"
