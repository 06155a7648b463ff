"""What is wrong with a grammar, and where: line and column, or the rule."""

from __future__ import annotations

import pytest

from specdec_cli.errors import UsageProblem
from specdec_cli.grammar.check import check_grammar
from specdec_cli.grammar.gbnf import read_rules

WRONG = {
    'root ::= "a': "line 1, column 10: this literal is never closed",
    "root ::= [a": "line 1, column 10: this character class is never closed",
    'root ::= ("a"\n  | "b"': "line 1, column 10: this `(` is not closed before the end",
    'root ::= ("a" ]': "line 1, column 10: this `(` is not closed before ']'",
    'root ::= "a")': "line 1, column 13: the end of rule root is expected, found ')'",
    'root = "a"': "line 1, column 6: `::=` is expected after the rule's name root, found '='",
    'root ::= "a"\nlist_item ::= "b"': "line 2, column 5: `::=` is expected after the rule's name list, found '_'",
    '::= "a"': "line 1, column 1: the name of a rule is expected, found ':'",
    'root ::= "\\q"': "line 1, column 11: there is no escape `\\q`",
    'root ::= "\\x4"': "line 1, column 11: `\\x` needs 2 hexadecimal digits",
    'root ::= "\\ud83d"': "line 1, column 11: there is no character U+D83D",
    'root ::= "a\\x00"': "line 1, column 12: there is no character U+0000",
    "root ::= []": "line 1, column 10: this character class matches no character",
    "root ::= [^\\U00000000-\\U0010FFFF]": "line 1, column 10: this character class matches no character",
    "root ::= [z-a]": "line 1, column 11: this range is empty",
    "root ::= *": "line 1, column 10: there is nothing here that `*` could repeat",
    'root ::= ""?': "line 1, column 12: there is nothing here that `?` could repeat",
    'root ::= "a"{3': "line 1, column 15: `}` is expected, found the end",
    'root ::= "a"{x}': "line 1, column 14: a number is expected, found 'x'",
    'root ::= "a"{3,1}': "line 1, column 13: from 3 to 1 times",
    'root ::= "a"{0,2001}': "line 1, column 13: at most 2000 repetitions",
    'root ::= "a"{99999999999999999999999999}': "line 1, column 13: at most 2000 repetitions",
    'root ::= ("a" | "b"){50}{50}': "line 1, column 25: nested repetitions make more than 2000 rules",
    'root ::= "a" item\n\nitems ::= "b"': "line 1, column 14: there is no rule called item",
    'root ::= "a"\n# twice\nroot ::= "b"': "line 3, column 1: rule root is there twice (first in line 1)",
    "root ::= <think>": "line 1, column 10: tokens by name or number",
    "root ::= !<[5]>": "line 1, column 10: tokens by name or number",
    'root ::= "a" \0': "line 1, column 14: a null character",
    "root ::= "
    + "(" * 200
    + '"a"'
    + ")" * 200: "line 1, column 110: parentheses are nested more than 100 deep",
    # As a whole.
    "": "the grammar has no rules",
    "# nothing\n": "the grammar has no rules",
    'answer ::= "a"': "no rule called root",
    'root ::= root "a" | "a"': "line 1, column 10: left recursion: rule root",
    'root ::= "x" | a\na ::= b "y"\nb ::= a': "line 3, column 7: left recursion: rule a",
    'root ::= empty root "a" | "b"\nempty ::= no\nno ::= "x"?': "line 1, column 16: left recursion: rule root",
    'root ::= ("a"*)*': "line 1, column 16: what is repeated here without end may be empty",
    'root ::= (nothing | "b")+\nnothing ::= ""': "line 1, column 25: what is repeated here without end",
    'root ::= "a" root': "line 1, column 1: no text can ever satisfy rule root",
    'root ::= "a" | "b" loop\nloop ::= "c" loop': "line 2, column 1: no text can ever satisfy rule loop",
    'root ::= ""': "line 1, column 1: the grammar admits nothing but the empty text",
    'root ::= nothing\nnothing ::= ("" | ""){2} "a"{0}': "line 1, column 1: the grammar admits nothing but the empty",
    'root ::= ("0123456789" "0123456789" "0123456789"){0} "a"\n'
    + "\n".join(f'r{i} ::= "0123456789"{{2000}}' for i in range(12)): "too large once its repetitions",
}


@pytest.mark.parametrize(("grammar", "message"), WRONG.items(), ids=[repr(text)[:40] for text in WRONG])
def test_a_wrong_grammar_is_one_line_that_says_where(grammar: str, message: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        check_grammar(grammar)
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


RIGHT = [
    'root ::= "yes" | "no"',
    'root ::= [a-zA-Z_-]+ [^\\x00-\\x1F"\\\\] .',
    '  # a comment\n\n root ::= # another\n\t( "a" |\n "b" # why\n ) rest*\r\nrest ::=\n  [-+] | [\\]\\[\\-^]',
    'root ::= "a"{2} "b"{2,} "c"{0,3} "d"??',
    'root ::= ("a" | "b" | item){1000}\nitem ::= "\\u00e9\\U0001F600"',
    'root ::= "\\x41" unused-too\nunused-too ::= "\n"',
    'root ::= value\nvalue ::= "[" (value ("," value)*)? "]"',
]


@pytest.mark.parametrize("grammar", RIGHT)
def test_a_right_grammar_is_taken(grammar: str) -> None:
    check_grammar(grammar)


def test_rules_keep_their_places() -> None:
    rules = read_rules('root ::= first\n\nfirst ::= "a"')
    assert {name: rule.offset for name, rule in rules.items()} == {"root": 0, "first": 16}


def test_long_chains_and_many_rules_take_no_recursion() -> None:
    rules = [f"r{number} ::= r{number + 1}\n" for number in range(4500)]
    check_grammar("root ::= r0\n" + "".join(rules) + 'r4500 ::= "a"\n')
    check_grammar('r4500 ::= "a"\n' + "".join(reversed(rules)) + "root ::= r0\n")
    with pytest.raises(UsageProblem, match="nests too many rules"):
        check_grammar("root ::= r0\n" + "".join(rules) + 'r4500 ::= (end?){0,600} "b"\nend ::= "a"\n')
