"""The chat over SmolLM2: what a turn reads, and the program in a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from specdec_cli.chat.conversation import Conversation, Turn
from specdec_cli.chat.prompting import PromptBuilder
from specdec_cli.engine.generation import Generation
from specdec_cli.llama.model import LlamaModel
from specdec_cli.settings import GenerationSettings
from tests.support.real import session

pytestmark = pytest.mark.real
QUESTIONS = ("Name a river.", "Where is it? 🤔", "Write `x = 1` in Python.\n\nOnly code.")


@pytest.mark.parametrize("drafter", ["model", "none"])
def test_each_turn_reads_only_what_is_new(real_models: Mapping[str, LlamaModel], drafter: str) -> None:
    target = real_models["Q4_1"]
    talking = session(target, drafter, real_models["Q4_0"] if drafter == "model" else None)
    prompts = PromptBuilder(target)
    conversation = Conversation(system="Answer in one short sentence.")
    try:
        for question in QUESTIONS:
            conversation = conversation.asking(question)
            prompt = prompts.build(conversation)
            whole = target.text.tokenize(prompt.text, add_special=False, parse_special=True)
            known = len(talking.committed)
            assert list(prompt.tokens[:known]) == talking.committed
            assert len(prompt.tokens) - known < 60
            assert len(whole) == pytest.approx(len(prompt.tokens), abs=3)
            generation = Generation(talking, target.text, GenerationSettings(24), 4)
            generation.prefill(prompt.tokens)
            for _event in generation:
                talking.check()
            prompts.remember(prompt, generation.answer, generation.token_ids)
            conversation = conversation.answering(Turn(question, generation.answer))
    finally:
        talking.close()


def test_a_pipe_is_answered_and_resumed(demo_files: dict[str, Path]) -> None:
    def chat(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "specdec_cli", "chat", "-n", "12", *options]
        return subprocess.run(
            command, input=text, capture_output=True, encoding="utf-8", timeout=300, check=False
        )

    models = ("--target", str(demo_files["Q4_1"]), "--draft", str(demo_files["Q4_0"]), "--drafter", "model")
    first = chat("Name a river.\n/stats\n", *models)
    assert first.returncode == 0, first.stderr
    assert " accepted" in first.stderr
    second = chat("And its sea?\n", "--resume")
    assert second.returncode == 0, second.stderr
    (path,) = (Path(os.environ["SPECDEC_STATE"]) / "sessions").glob("*.json")
    turns = json.loads(path.read_text(encoding="utf-8"))["turns"]
    assert [turn["user"] for turn in turns] == ["Name a river.", "And its sea?"]
    assert first.stdout.startswith(turns[0]["answer"])
    assert second.stdout == turns[1]["answer"] + "\n"
