"""Messages → prompt text, with the chat template the model carries, rendered by Jinja in its sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import LoadedModel

Message = Mapping[str, str]
"""{"role": "system" | "user" | "assistant", "content": text}."""


@dataclass(frozen=True)
class ChatTemplate:
    """A model's chat template and the special tokens it may print."""

    source: str
    bos_token: str = ""
    eos_token: str = ""

    def render(
        self, messages: Sequence[Message], *, add_generation_prompt: bool = True, **variables: Any
    ) -> str:
        """The prompt text. Raises `SpecdecError` when the template is broken or refuses these messages."""
        import jinja2

        try:
            template = _compiled(self.source)
            return str(
                template.render(
                    messages=[dict(message) for message in messages],
                    bos_token=self.bos_token,
                    eos_token=self.eos_token,
                    add_generation_prompt=add_generation_prompt,
                    raise_exception=_raise_exception,
                    strftime_now=lambda pattern: datetime.now().strftime(pattern),
                    **variables,
                )
            )
        except _Refused as error:
            raise SpecdecError(
                f"the model's chat template refuses this conversation: {error}",
                hint="some models know no system role: leave out --system, or use --raw",
                code="template.refused",
            ) from error
        except (jinja2.TemplateError, TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise SpecdecError(
                f"the model's chat template cannot be rendered: {first_line}",
                hint="use --raw to send the prompt as it is",
                code="template.broken",
            ) from error


def prompt_tokens(
    model: LoadedModel, prompt: str, system: str | None = None, *, raw: bool = False
) -> list[int]:
    """A single prompt's token ids: by the model's chat template, or as it is when raw or when there is none.

    Tokenized once, with the target's vocabulary: the draft gets the same ids.
    """
    source = model.chat_template
    if raw or source is None:
        return model.text.tokenize(prompt, add_special=True, parse_special=False)
    messages: list[Message] = [{"role": "system", "content": system}] if system is not None else []
    messages.append({"role": "user", "content": prompt})
    rendered = ChatTemplate(source, *model.template_tokens).render(messages)
    return model.text.tokenize(rendered, add_special=False, parse_special=True)


class _Refused(Exception):
    """A template called `raise_exception`."""


def _raise_exception(message: str) -> None:
    raise _Refused(message)


@lru_cache(maxsize=8)
def _compiled(source: str) -> Any:
    """A chat renders the same template every turn."""
    return _environment().from_string(source)


def _environment() -> Any:
    """Jinja as Hugging Face's templates expect it: trimmed blocks, `break`, `{% generation %}`, unescaped JSON."""
    from jinja2 import nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class GenerationBlock(Extension):
        """`{% generation %} … {% endgeneration %}` marks what to train on; for a prompt it is its content."""

        tags = {"generation"}  # noqa: RUF012 - Jinja's own declaration

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlock, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    return environment


def _to_json(value: Any, indent: int | None = None, sort_keys: bool = False, **_ignored: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys)
