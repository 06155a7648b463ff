"""Grammars as text: what can be known of them without a model or a native library.

    file ─▶ gbnf.read_rules ─▶ check.check_grammar ─▶ the same text, safe to hand to llama.cpp
    JSON schema ─▶ json_schema.schema_to_gbnf ─┘

llama.cpp's own reader prints to standard error, takes some grammars for others than they look, and never returns
from a few. So everything is read here first, by the same rules and a little more strictly; errors say where.
"""
