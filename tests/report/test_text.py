"""Foreign text comes out of a markdown renderer as it went in."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from runner.report.text import code_block, escape, one_line

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
words = st.text(alphabet=st.sampled_from("ab1 \\`*_[]()<>&~|$#!@:./-+=\n\t{}\"'é漢"), max_size=40) | st.text(max_size=40)


def shown(source: str) -> str:
    """The text of the first cell in the body of a table, and that no mark-up came with it."""
    tokens = MARKDOWN.parse(source)
    bodies = [tokens[n + 1] for n, token in enumerate(tokens) if token.type == "td_open"]
    assert len(bodies) == 2, "the text broke out of its cell"
    children = bodies[0].children or []
    assert {child.type for child in children} <= {"text", "text_special"}, children
    return "".join(child.content for child in children)


@given(words)
@example("a|b")
@example("`x` **y** __z__ _u_ ~~v~~")
@example("<script>alert(1)</script> <!-- x -->")
@example("[text](http://x) ![i](j) &lt; \\| \\")
@example("line\n| new | row |\n\n# heading")
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    source = f"| a | b |\n|---|---|\n| x{escape(text)}x | end |\n"
    assert shown(source).replace("\N{WORD JOINER}", "") == "x" + one_line(text) + "x"


@given(words)
def test_a_list_item_stays_one_item(text: str) -> None:
    tokens = MARKDOWN.parse(f"1. **ok**: {escape(text)} end\n2. next\n")
    assert [token.type for token in tokens].count("list_item_open") == 2
    assert {token.tag for token in tokens} <= {"ol", "li", "p", ""}


@given(words)
def test_one_line_has_no_marks_that_cannot_be_shown(text: str) -> None:
    line = one_line(text)
    assert not re.search(r"[\x00-\x1f\x7f\u202a-\u202e]", line)
    line.encode()


def test_a_name_in_one_word_stays_readable() -> None:
    assert escape("mixed_bfloat16 not_installed") == "mixed_bfloat16 not_installed"
    assert escape("__init__ _x") == r"\_\_init\_\_ \_x"


def test_commands_can_be_copied_from_the_source() -> None:
    for command in ("pip install 'headtohead[pytorch]>=0.1,<2'", r"C:\Users\x --a=b & c", "see (a) [1] #2 1 < 2 > 0"):
        assert escape(command) == command


def test_nobody_is_called() -> None:
    assert "@tf" not in escape("in @tf.function")
    assert escape("me@example.org") == "me@example.org"


def test_half_a_character_is_replaced() -> None:
    assert one_line("a\udc80b") == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("text", ["h2h run", "echo ```x```", "````"])
def test_a_code_block_holds_its_text(text: str) -> None:
    (token,) = MARKDOWN.parse(code_block(text))
    assert (token.type, token.content) == ("fence", text + "\n")
