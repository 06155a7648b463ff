"""Reading GBNF, llama.cpp's notation for grammars: rules with their places in the text, errors with line and column.

What is read here, llama.cpp reads the same way. What it would silently take for something else is refused: two
rules of one name, empty and reversed character ranges, a repetition of more than 2000.
"""

from __future__ import annotations

from collections.abc import Iterator

from specdec_cli.grammar.cursor import Cursor, is_word
from specdec_cli.grammar.rules import (
    Alternatives,
    Characters,
    GrammarProblem,
    Group,
    Node,
    Reference,
    Repetition,
    Rule,
    line_and_column,
    problem_at,
)

MOST_REPETITIONS = 2000
"""llama.cpp reads a larger bound as none at all."""
_DEEPEST = 100
_LONGEST = 1 << 20


def read_rules(text: str) -> dict[str, Rule]:
    """The rules of a grammar by name, in order. Raises `GrammarProblem` with line and column."""
    if len(text) > _LONGEST:
        raise GrammarProblem(f"the grammar is {len(text)} characters long; at most {_LONGEST} are read")
    if "\0" in text:
        raise problem_at(text, text.index("\0"), "a null character cannot be part of a grammar")
    rules: dict[str, Rule] = {}
    for rule in _Reader(text).rules():
        if rule.name in rules:
            first, _ = line_and_column(text, rules[rule.name].offset)
            raise problem_at(text, rule.offset, f"rule {rule.name} is there twice (first in line {first})")
        rules[rule.name] = rule
    return rules


class _Reader(Cursor):
    """One pass over the text. Follows llama.cpp's reader where newlines may stand and what counts as a rule."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._names: set[str] = set()
        self._made = 0
        """Rules that llama.cpp makes of groups and repetitions so far."""

    def rules(self) -> Iterator[Rule]:
        self.space(newlines=True)
        while self.at < len(self.text):
            yield self._rule()

    def _rule(self) -> Rule:
        offset, name = self.at, self._rule_name()
        self.space(newlines=False)
        if not self.text.startswith("::=", self.at):
            raise self.problem(f"`::=` is expected after the rule's name {name}{self.found()}")
        self.at += 3
        self.space(newlines=True)
        alternatives = self._alternatives(nested=False)
        if self.at < len(self.text) and self.peek() not in "\r\n":
            raise self.problem(f"the end of rule {name} is expected{self.found()}", self.stray_hint())
        self.space(newlines=True)
        return Rule(name, offset, alternatives)

    def _rule_name(self) -> str:
        name = self.name("the name of a rule is expected")
        self._names.add(name)
        return name

    def _alternatives(self, *, nested: bool) -> Alternatives:
        found = [self._sequence(nested)]
        while self.peek() == "|":
            self.at += 1
            self.space(newlines=True)
            found.append(self._sequence(nested))
        return tuple(found)

    def _sequence(self, nested: bool) -> tuple[Node, ...]:
        nodes: list[Node] = []
        multiple = 1
        repeatable = False
        while character := self.peek():
            offset = self.at
            if character in "*+?{":
                least, most = self._bounds(nested)
                if not repeatable:
                    raise self.problem(f"there is nothing here that `{character}` could repeat", at=offset)
                multiple = self._count_repetition(multiple, least, most, offset)
                nodes[-1] = Repetition(nodes[-1], least, most, offset)
            else:
                before = len(self._names) + self._made
                node = self._node(character)
                if node is None:
                    break
                nodes.append(node)
                multiple = max(1, len(self._names) + self._made - before) if isinstance(node, Group) else 1
                repeatable = not isinstance(node, Characters) or node.length > 0
            self.space(newlines=nested)
        return tuple(nodes)

    def _node(self, character: str) -> Node | None:
        if character == '"':
            return self.literal()
        if character == "[":
            return self.character_class()
        if character == ".":
            self.at += 1
            return Characters(1, 1)
        if character == "(":
            return self._group()
        if is_word(character):
            offset = self.at
            return Reference(self._rule_name(), offset)
        if character in "<!":
            raise self.problem(
                "tokens by name or number (`<…>`) are not supported", "write the text itself as a literal"
            )
        return None

    def _group(self) -> Group:
        opened = self.at
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.problem(f"parentheses are nested more than {_DEEPEST} deep")
        self.at += 1
        self.space(newlines=True)
        self._made += 1
        alternatives = self._alternatives(nested=True)
        if self.peek() != ")":
            raise self.problem(f"this `(` is not closed before{self.found(' ')}", at=opened)
        self.at += 1
        self._depth -= 1
        return Group(alternatives)

    def _bounds(self, nested: bool) -> tuple[int, int | None]:
        """What `*`, `+`, `?` or `{m,n}` says; the place moves behind it."""
        opened, character = self.at, self.peek()
        self.at += 1
        if character != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
        self.space(newlines=nested)
        least = self.integer()
        most: int | None = least
        self.space(newlines=nested)
        if self.peek() == ",":
            self.at += 1
            self.space(newlines=nested)
            most = self.integer() if self.peek().isdecimal() else None
            self.space(newlines=nested)
        if self.peek() != "}":
            raise self.problem(f"`}}` is expected{self.found()}")
        self.at += 1
        if most is not None and most < least:
            raise self.problem(f"from {least} to {most} times: the first must not be larger", at=opened)
        if max(least, most or 0) > MOST_REPETITIONS:
            raise self.problem(f"at most {MOST_REPETITIONS} repetitions are possible", at=opened)
        return least, most

    def _count_repetition(self, multiple: int, least: int, most: int | None, offset: int) -> int:
        """llama.cpp makes a rule of each optional repetition, and refuses when nested ones multiply too far."""
        total = most or least or 1
        if multiple * total > MOST_REPETITIONS:
            raise self.problem(
                f"nested repetitions make more than {MOST_REPETITIONS} rules of this", at=offset
            )
        self._made += 1 if most is None else most - least
        return multiple * total
