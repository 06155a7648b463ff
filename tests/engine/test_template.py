"""Messages → prompt, in Jinja's sandbox, with one clear line when a template misbehaves."""

from __future__ import annotations

import pytest

from specdec_cli.engine.template import ChatTemplate
from specdec_cli.errors import SpecdecError

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
USER = [{"role": "user", "content": "hi"}]


def test_a_conversation_is_rendered() -> None:
    assert ChatTemplate(CHATML).render(USER) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert ChatTemplate(CHATML).render(USER, add_generation_prompt=False).endswith("<|im_end|>\n")


def test_special_tokens_loop_controls_and_generation_blocks() -> None:
    source = (
        "{{ bos_token }}{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}"
        "{% generation %}{{ m['content'] | tojson }}{% endgeneration %}{% endfor %}{{ eos_token }}"
    )
    assert ChatTemplate(source, "<s>", "</s>").render([*USER, *USER]) == '<s>"hi"</s>'


def test_json_is_not_escaped_for_html() -> None:
    messages = [{"role": "user", "content": "<é>"}]
    assert ChatTemplate("{{ messages[0].content | tojson }}").render(messages) == '"<é>"'


def test_a_refusal_names_the_reason_and_a_way_out() -> None:
    template = ChatTemplate("{{ raise_exception('System role not supported') }}")
    with pytest.raises(SpecdecError, match="System role not supported") as caught:
        template.render(USER)
    assert caught.value.hint is not None
    assert "--system" in caught.value.hint


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ nothing.at.all }}",
        "{{ 1 + 'a' }}",
        "{{ messages[7]['content'].x }}",
        "{{ ''.__class__.x.y }}",
    ],
)
def test_a_broken_template_is_one_line(source: str) -> None:
    with pytest.raises(SpecdecError) as caught:
        ChatTemplate(source).render(USER)
    assert "\n" not in caught.value.message
    assert caught.value.hint is not None
