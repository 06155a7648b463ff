"""A whole conversation in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specdec_cli.ui.chat_text import meter_bar, meter_text

if TYPE_CHECKING:
    from specdec_cli.chat.chat import Chat


def stats_rows(chat: Chat) -> list[tuple[str, str]]:
    """What `/stats` shows."""
    answers = [turn.figures for turn in chat.conversation.answered]
    tokens = sum(figures.tokens for figures in answers)
    seconds = sum(figures.seconds for figures in answers)
    drafted = sum(figures.drafted for figures in answers)
    accepted = sum(figures.accepted for figures in answers)
    rounds = sum(figures.rounds for figures in answers)
    rows = [("session", chat.session.name), ("turns", str(len(chat.conversation.turns)))]
    if chat.conversation.dropped:
        rows.append(("not sent any more", f"{chat.conversation.dropped} oldest turns"))
    if tokens and seconds:
        rows.append(("generated", f"{tokens} tokens in {seconds:.1f} s: {tokens / seconds:.1f} tok/s"))
    if drafted:
        rows.append(
            (
                "drafted",
                f"{drafted} tokens, {accepted / drafted:.0%} accepted, {tokens / rounds:.2f} per round",
            )
        )
        native = sum(figures.target_seconds + figures.draft_seconds for figures in answers)
        draft = sum(figures.draft_seconds for figures in answers)
        rows.append(("time", f"{draft / native:.0%} of it in the draft model" if native else "unknown"))
    if answers:
        last = answers[-1]
        rows.append(("to first token", f"{last.prompt_seconds:.2f} s of reading, last time"))
    if chat.loaded is not None:
        engine, meter = chat.loaded.engine, chat.meter
        rows += [
            ("models", chat.loaded.title),
            ("speculation", f"{engine.speculation} ({engine.reason})"),
            ("context", f"{meter_bar(meter.used, meter.size)} {meter_text(meter.used, meter.size)}"),
        ]
    return rows
