"""Reading and changing the options of a running chat."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast, get_args

from specdec_cli.chat.chat import Chat
from specdec_cli.chat.context_budget import WhenFull
from specdec_cli.chat.option_table import Option, parse_value
from specdec_cli.draft.catalog import PLAIN, drafter_kind
from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.settings import AcceptRule

DRAFTER = "drafter"
AUTO = "auto"


def value_of(chat: Chat, option: Option) -> str:
    """The value in use, as one would type it."""
    value: object
    if option.scope == "sampling":
        value = getattr(chat.sampling, option.field)
    elif option.scope == "limits":
        value = getattr(chat.limits, option.field)
    elif option.scope == "chat":
        value = getattr(chat, option.field)
    elif option.scope == "drafting" and chat.loaded is not None:
        value = getattr(chat.loaded.engine.drafting, option.field)
    else:
        value = chat.slot.models.option(option.field)
    return "automatic" if value is None else option.show(value)


def set_option(chat: Chat, option: Option, text: str) -> None:
    """Change one option, from the next answer on. Raises `SpecdecError`; nothing has changed then."""
    value = parse_value(option, text)
    if option.scope == "sampling":
        _set_sampling(chat, option.field, value)
    elif option.scope == "limits":
        if option.field == "max_tokens" and cast(int, value) < 1:
            raise UsageProblem("max-tokens must be at least 1")
        chat.limits = replace(chat.limits, **{option.field: cast(Any, value)})
    elif option.scope == "chat":
        chat.when_full = next(choice for choice in get_args(WhenFull) if choice == value)
    elif option.field == DRAFTER:
        use_drafter(chat, text)
        return
    elif option.field == "accept":
        rule = next(choice for choice in get_args(AcceptRule) if choice == value)
        chat.require_loaded().engine.use_draft_settings(accept=rule)
    elif option.field == "draft_max":
        _set_draft_max(chat, cast(int, value))
    else:
        chat.open({option.field: value})
    chat.settings[option.name] = text
    chat.save()


def use_drafter(chat: Chat, name: str) -> None:
    """Let another drafter propose from the next answer on. Raises `SpecdecError`."""
    chat.use_drafter(name)
    chat.settings[DRAFTER] = name
    chat.save()


def speculating_drafter(chat: Chat) -> str:
    """Who drafts when speculation is switched on: whom the command line named, else the draft model, else n-grams."""
    named = chat.slot.models.option(DRAFTER)
    if isinstance(named, str) and named not in (PLAIN, AUTO) and drafter_kind(named).speculates:
        return named
    return "model" if chat.require_loaded().engine.draft is not None else "ngram"


def restore_settings(chat: Chat, settings: dict[str, str]) -> None:
    """Options of a saved chat, once its models are loaded; what no longer works is told and left out."""
    from specdec_cli.chat.option_table import OPTIONS

    for name, text in settings.items():
        option = OPTIONS.get(name)
        if option is None or option.scope == "load":
            continue
        try:
            set_option(chat, option, text)
        except SpecdecError as error:
            chat.view.warning(f"the saved setting {name} {text} does not work here: {error.message}")


def _set_sampling(chat: Chat, field: str, value: object) -> None:
    sampling = replace(chat.sampling, **{field: cast(Any, value)})
    if chat.loaded is not None:
        chat.loaded.engine.use_sampling(sampling)
    chat.sampling = sampling


def _set_draft_max(chat: Chat, longest: int) -> None:
    """Longer drafts than the contexts were made for need new contexts."""
    loaded = chat.require_loaded()
    if longest > loaded.engine.session.target.max_rows - 1:
        chat.open({"draft_max": longest})
    else:
        loaded.engine.use_draft_settings(draft_max=longest)
