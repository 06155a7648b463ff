"""What is asked: 24 prompts of six kinds, or those of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.errors import SpecdecError, UsageProblem

YOURS = "yours"
"""The kind of prompts that come from a file."""


@dataclass(frozen=True)
class Prompt:
    """One prompt and what kind of answer it asks for."""

    kind: str
    text: str


_CODE = (
    "Write a Python function that returns the second largest number in a list.",
    "Write a C function that counts the words in a string. Explain each line in a comment.",
    (
        "Here is a Python class:\n\nclass Counter:\n    def __init__(self):\n        self.total = 0\n\n"
        "    def add(self, amount):\n        self.total += amount\n\n"
        "Write the class again with a method reset and a method average."
    ),
    "Write a SQL query that lists every customer with the date of the latest order, and explain it.",
)
_CHAT = (
    "Tell me a short story about a lighthouse keeper who is afraid of the dark.",
    "My neighbour plays the trumpet at night. What could I say to him without a quarrel?",
    "Why is the sky blue in the day and red in the evening?",
    "I have a free afternoon, rain outside, and no money. What should I do?",
)
_LIST = (
    "List ten animals that live in the sea, one per line, numbered.",
    "Give me a shopping list for a vegetable soup for six people, with amounts.",
    "List the planets of the solar system from the sun outwards, each with one fact.",
    "Write the numbers from one to thirty in words, separated by commas.",
)
_JSON = (
    "Answer with JSON only: three books, each with the fields title, author, year and language.",
    'Turn this into a JSON object: "Ada Lovelace, born 10 December 1815 in London, mathematician."',
    "Answer with JSON only: a list of five European capitals, each with name, country and population.",
    "Write a JSON schema for a person with a name, an age from 0 to 150 and a list of e-mail addresses.",
)
_TRANSLATION = (
    "Translate into French: The train leaves at seven, and nobody knows where it will stop.",
    "Translate into German, then back into English: He who asks is a fool for five minutes.",
    "Translate into Spanish: Please put the blue cups on the shelf above the sink. They are clean.",
    "Übersetze ins Englische: Der alte Gärtner öffnet das Tor nur, wenn es „schön“ regnet. 🌧️ Warum?",
)
_DOCUMENT = """Rules of the boat house at Lake Orrin

1. Opening. The boat house is open from the first of April to the last of October, from seven in the morning \
until one hour before sunset. On days of storm warning the keeper raises the yellow flag, and no boat leaves the \
jetty while it flies.
2. Boats. There are nine boats: four rowing boats with two seats, three rowing boats with four seats, and two \
sailing boats. The sailing boats, named Heron and Little Owl, are lent only to members who have passed the test of \
the lake. A boat that leaks is tied to the red post and written into the book.
3. Lending. Whoever takes a boat writes name, boat, hour and destination into the book, and strikes the line out \
after the return. A boat is lent for three hours at most; when nobody waits, the keeper may allow two more. Oars \
and life jackets are counted before and after each trip.
4. Children. Children under twelve wear a life jacket on the jetty and in the boat, also when they can swim. One \
adult may take three children in a boat with four seats, and one child in a boat with two.
5. The far shore. Landing is allowed at the old mill and at the sand bank, but not on the island, where the herons \
nest from March to July. Fires are allowed at the mill only, inside the ring of stones, and are put out with water.
6. Damage. What is broken is paid for by whoever broke it, at the price that is painted on the wall: an oar 40, a \
rowlock 12, a life jacket 35, a rudder 90. Nobody is blamed for a storm that came without a warning.
7. The key. The key hangs behind the second shutter from the left. The last one to leave closes both doors, hangs \
it back, and turns the board at the gate so that it says: all boats are home.
"""
_COPY = (
    f"{_DOCUMENT}\nRepeat rule 3 of this text word for word.",
    f"{_DOCUMENT}\nRepeat rules 5 and 6 of this text word for word, and nothing else.",
    f"{_DOCUMENT}\nCopy the whole text from its beginning, and change lake to river everywhere.",
    f"{_DOCUMENT}\nWhich boats are there, and who may take them? Quote the sentences that say so.",
)
BUILT_IN: tuple[Prompt, ...] = tuple(
    Prompt(kind, text)
    for kind, texts in (
        ("code", _CODE),
        ("chat", _CHAT),
        ("list", _LIST),
        ("json", _JSON),
        ("translation", _TRANSLATION),
        ("copy", _COPY),
    )
    for text in texts
)


def read_prompts(file: Path) -> tuple[Prompt, ...]:
    """The prompts of a file, one a line; empty lines are skipped. Raises when there are none."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecdecError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SpecdecError(
            f"{file} is not UTF-8 text: byte 0x{error.object[error.start]:02x} at offset {error.start}",
            hint="convert it to UTF-8 first",
        ) from error
    prompts = tuple(Prompt(YOURS, line.strip()) for line in text.split("\n") if line.strip())
    if not prompts:
        raise UsageProblem(f"--prompts {file}: there is no prompt in it", hint="one prompt a line")
    return prompts


def one_of_each_kind(prompts: Sequence[Prompt], most: int) -> tuple[int, ...]:
    """Indices of prompts that differ as much as possible: the first of each kind, then the second, …"""
    seen: dict[str, int] = {}
    turns: list[tuple[int, int]] = []
    for index, prompt in enumerate(prompts):
        turns.append((seen.get(prompt.kind, 0), index))
        seen[prompt.kind] = turns[-1][0] + 1
    return tuple(index for _turn, index in sorted(turns)[:most])
