"""Foreign text (names, reasons, versions) made safe for one line of a table or of markdown."""

from __future__ import annotations

import re

# What markdown would take for mark-up inside a line: always for some characters, for others only where they stand so that they can.
_MARKS = re.compile(
    r"[`*|~$]"
    r"|\\(?=[!-/:-@\[-`{-~]|$)"
    r"|\](?=\()"
    r"|<(?=[A-Za-z/!?])"
    r"|&(?=\#?\w+;)"
    r"|(?<![^\W_])_|_(?![^\W_])"
)
_MENTION = re.compile(r"(?<![\w`])@(?=\w)")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")


def one_line(text: object) -> str:
    """The text on one line, each run of white space as one blank, and what cannot be shown (control and direction marks,
    halves of characters) as a replacement character."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", " ".join(str(text).split()))


def escape(text: object) -> str:
    """The text so that markdown shows it as it is, in a table too.

    What is no mark where it stands is left alone (``mixed_bfloat16``, ``pip install 'a[b]>=1'``), for those who read the source in a
    terminal and copy from it. It must not begin a line. An ``@`` before a name is followed by a word joiner, since a page that it is
    pasted into would otherwise call somebody.
    """
    return _MENTION.sub("@\N{WORD JOINER}", _MARKS.sub(r"\\\g<0>", one_line(text)))


def code_block(text: str) -> str:
    """The text between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{one_line(text)}\n{fence}"
