"""Whether a grammar makes sense as a whole, before llama.cpp sees it.

llama.cpp finds some left recursion and overlooks the hidden kind, on which it never stops; and it does not mind a
grammar that no text can satisfy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specdec_cli.grammar.gbnf import read_rules
from specdec_cli.grammar.rules import (
    Alternatives,
    Characters,
    GrammarProblem,
    Group,
    Node,
    Reference,
    Repetition,
    Rule,
    problem_at,
)

ROOT = "root"
_MOST_ELEMENTS = 200_000
"""Each look-ahead copies the grammar: a larger one would be slower than the model."""
_LONGEST_CHAIN = 5_000
"""llama.cpp follows chains of first rules on the stack."""


def check_grammar(text: str) -> dict[str, Rule]:
    """The rules. Raises `GrammarProblem`, with the place where there is one, unless llama.cpp can work with them."""
    rules = read_rules(text)
    if not rules:
        raise GrammarProblem("the grammar has no rules", hint='the least is: root ::= "yes" | "no"')
    _check_names(text, rules)
    if sum(_elements(rule.alternatives) for rule in rules.values()) > _MOST_ELEMENTS:
        raise GrammarProblem(
            "the grammar is too large once its repetitions are written out",
            hint="lower the bounds of {m,n}, or use * and +",
        )
    nullable = _fixpoint(rules, lambda rule, known: _any(rule.alternatives, known, _may_be_empty))
    _check_recursion(text, rules, nullable)
    _check_language(text, rules)
    return rules


def allows_bytes_one_by_one(rules: dict[str, Rule]) -> bool:
    """Whether the first byte of every character that fits may stand alone in a token.

    llama.cpp refuses a character's first bytes already where some end of it would be in a class of characters that
    do not fit: `[^é]` takes ü as a whole, but not byte by byte.
    """
    return not any(node.excludes_wide for rule in rules.values() for node in _characters(rule.alternatives))


def _characters(alternatives: Alternatives) -> Iterator[Characters]:
    for sequence in alternatives:
        for node in sequence:
            while isinstance(node, Repetition):
                node = node.node
            if isinstance(node, Characters):
                yield node
            elif isinstance(node, Group):
                yield from _characters(node.alternatives)


def _check_names(text: str, rules: dict[str, Rule]) -> None:
    for rule in rules.values():
        for reference in _references(rule.alternatives):
            if reference.name not in rules:
                raise problem_at(text, reference.offset, f"there is no rule called {reference.name}")
    if ROOT not in rules:
        raise GrammarProblem(f"the grammar has no rule called {ROOT}", hint="generation starts at that rule")


def _references(alternatives: Alternatives) -> Iterator[Reference]:
    for sequence in alternatives:
        for node in sequence:
            while isinstance(node, Repetition):
                node = node.node
            if isinstance(node, Reference):
                yield node
            elif isinstance(node, Group):
                yield from _references(node.alternatives)


def _elements(alternatives: Alternatives) -> int:
    """How many elements llama.cpp makes of it."""
    return sum(1 + sum(_node_elements(node) for node in sequence) for sequence in alternatives)


def _node_elements(node: Node) -> int:
    if isinstance(node, Characters):
        return node.elements
    if isinstance(node, Group):
        return 1 + _elements(node.alternatives)
    if isinstance(node, Repetition):
        size = _repeated_size(node.node)
        optional = 1 if node.most is None else node.most - node.least
        return _node_elements(node.node) + node.least * size + optional * (size + 3) + 1
    return 1


def _repeated_size(node: Node) -> int:
    """What a repetition copies: a group or a repetition is a rule by then, and one reference."""
    return node.elements if isinstance(node, Characters) else 1


Known = frozenset[str] | set[str]


def _fixpoint(rules: dict[str, Rule], holds: Callable[[Rule, Known], bool]) -> set[str]:
    """The least set of rules closed under `holds`."""
    known: set[str] = set()
    order = list(rules.values())
    grown = True
    while grown:
        before = len(known)
        known.update(rule.name for rule in order if rule.name not in known and holds(rule, known))
        grown = len(known) > before
        order.reverse()
    return known


def _any(alternatives: Alternatives, known: Known, holds: Callable[[Node, Known], bool]) -> bool:
    """Whether for one alternative it holds throughout."""
    return any(all(holds(node, known) for node in sequence) for sequence in alternatives)


def _may_be_empty(node: Node, known: Known) -> bool:
    if isinstance(node, Characters):
        return node.length == 0
    if isinstance(node, Reference):
        return node.name in known
    if isinstance(node, Group):
        return _any(node.alternatives, known, _may_be_empty)
    return node.least == 0 or _may_be_empty(node.node, known)


def _ends(node: Node, known: Known) -> bool:
    """Whether some finite text fits."""
    if isinstance(node, Characters):
        return True
    if isinstance(node, Reference):
        return node.name in known
    if isinstance(node, Group):
        return _any(node.alternatives, known, _ends)
    return node.least == 0 or _ends(node.node, known)


def _has_text(node: Node, known: Known) -> bool:
    """Whether some text fits that is not empty."""
    if isinstance(node, Characters):
        return node.length > 0
    if isinstance(node, Reference):
        return node.name in known
    if isinstance(node, Group):
        return any(_has_text(inner, known) for sequence in node.alternatives for inner in sequence)
    return node.most != 0 and _has_text(node.node, known)


def _check_language(text: str, rules: dict[str, Rule]) -> None:
    ending = _fixpoint(rules, lambda rule, known: _any(rule.alternatives, known, _ends))
    for name in _reachable(rules):
        if name not in ending:
            raise problem_at(
                text,
                rules[name].offset,
                f"no text can ever satisfy rule {name}: all its alternatives go on without end",
                "give it an alternative that does not lead back to it",
            )
    written = _fixpoint(
        rules,
        lambda rule, known: any(
            _has_text(node, known) for sequence in rule.alternatives for node in sequence
        ),
    )
    if ROOT not in written:
        raise problem_at(text, rules[ROOT].offset, "the grammar admits nothing but the empty text")


def _reachable(rules: dict[str, Rule]) -> list[str]:
    """The rules that root leads to, in the grammar's order."""
    seen, todo = {ROOT}, [ROOT]
    while todo:
        for reference in _references(rules[todo.pop()].alternatives):
            if reference.name not in seen:
                seen.add(reference.name)
                todo.append(reference.name)
    return [name for name in rules if name in seen]


def _check_recursion(text: str, rules: dict[str, Rule], nullable: set[str]) -> None:
    """No rule may begin with itself, nor may what is empty be repeated without end."""
    firsts: dict[str, list[tuple[Reference, int]]] = {}
    for rule in rules.values():
        _check_repetitions(text, rule.alternatives, nullable)
        firsts[rule.name] = list(_first_references(rule.alternatives, nullable, 0))
    depth: dict[str, int] = {}
    for name in rules:
        _follow_firsts(text, name, firsts, depth)


def _follow_firsts(
    text: str, start: str, firsts: dict[str, list[tuple[Reference, int]]], depth: dict[str, int]
) -> None:
    """Depth-first without recursion; fills `depth` with the longest chain of first rules from each rule."""
    path: dict[str, Iterator[tuple[Reference, int]]] = (
        {start: iter(firsts[start])} if start not in depth else {}
    )
    while path:
        name = next(reversed(path))
        for reference, _ in path[name]:
            if reference.name in path:
                raise problem_at(
                    text,
                    reference.offset,
                    f"left recursion: rule {reference.name} leads back to itself before any text",
                    f'write the recursion at the end: {reference.name} ::= "x" {reference.name} | "x"',
                )
            if reference.name not in depth:
                path[reference.name] = iter(firsts[reference.name])
                break
        else:
            depth[name] = 1 + max((cost + depth[first.name] for first, cost in firsts[name]), default=0)
            if depth[name] > _LONGEST_CHAIN:
                raise GrammarProblem(f"the grammar nests too many rules in one another (from rule {name})")
            del path[name]


def _first_references(
    alternatives: Alternatives, nullable: set[str], cost: int
) -> Iterator[tuple[Reference, int]]:
    """The rules that can come before any text, each with how deep llama.cpp descends on the way."""
    for sequence in alternatives:
        for node in sequence:
            yield from _first_references_of(node, nullable, cost)
            if not _may_be_empty(node, nullable):
                break


def _first_references_of(node: Node, nullable: set[str], cost: int) -> Iterator[tuple[Reference, int]]:
    if isinstance(node, Reference):
        yield node, cost
    elif isinstance(node, Group):
        yield from _first_references(node.alternatives, nullable, cost + 1)
    elif isinstance(node, Repetition):
        chain = node.most if node.most is not None and _may_be_empty(node.node, nullable) else 0
        yield from _first_references_of(node.node, nullable, cost + 1 + chain)


def _check_repetitions(text: str, alternatives: Alternatives, nullable: set[str]) -> None:
    for sequence in alternatives:
        for node in sequence:
            while isinstance(node, Repetition):
                if node.most is None and _may_be_empty(node.node, nullable):
                    raise problem_at(
                        text,
                        node.offset,
                        "what is repeated here without end may be empty",
                        "let it hold some text",
                    )
                node = node.node
            if isinstance(node, Group):
                _check_repetitions(text, node.alternatives, nullable)
