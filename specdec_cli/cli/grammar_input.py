"""What answers must satisfy: from a grammar file or a JSON schema to a checked grammar."""

from __future__ import annotations

from pathlib import Path

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.prompt_input import read_text
from specdec_cli.errors import UsageProblem
from specdec_cli.grammar.check import check_grammar
from specdec_cli.grammar.json_schema import schema_to_gbnf


def read_grammar(
    grammar: Path | None, json_schema: Path | None, environment: Environment, *, prompt_is_stdin: bool
) -> str | None:
    """The grammar in llama.cpp's notation, None without one; `-` means standard input for either.

    Raises `UsageProblem` for a grammar or a schema that cannot be used, before any model is loaded.
    """
    if grammar is not None and json_schema is not None:
        raise UsageProblem(
            "--grammar and --json-schema both say what the answer must be", hint="give one of them"
        )
    file = grammar if grammar is not None else json_schema
    if file is None:
        return None
    if str(file) == "-" and prompt_is_stdin:
        raise UsageProblem(
            "standard input cannot be both the prompt and the grammar or schema",
            hint="give the prompt as an argument, or with -f",
        )
    text = read_text(file, environment)
    if json_schema is not None:
        return schema_to_gbnf(text)
    check_grammar(text)
    return text
