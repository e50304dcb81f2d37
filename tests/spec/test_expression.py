"""Arithmetic of the language: values, types, bounds, and that it agrees with Python where both have a value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.spec.expression import ExpressionError, condition, evaluate, references, substitute
from runner.spec.tree import Tree, YamlList, YamlScalar

SCOPE: dict[str, Tree] = {
    name: YamlScalar(value, str(value), 1, 1) for name, value in {"width": 8, "half": 0.5, "deep": True, "kind": "a"}.items()
}
SCOPE["pair"] = YamlList((YamlScalar(1, "1", 1, 1), YamlScalar(7, "7", 1, 1)), 1, 1)


def text(said: str) -> YamlScalar:
    return YamlScalar(said, said, 5, 6)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("4 * width", 32),
        ("width / 4", 2),
        ("width / 3", 8 / 3),
        ("width // 3 + width % 3", 4),
        ("2 ** 3", 8),
        ("-width + +1", -7),
        ("width * half", 4.0),
        ("max(1, width, 3) - min(4, 2)", 6),
        ("width if deep else 1", 8),
        ("width if not deep else 1", 1),
        ("1 < width <= 8", True),
        ("width == 8 and half > 1", False),
        ("deep and width == 8", True),
        ("not deep or width != 8", False),
        ("kind == 'a'", True),
        ("true and not false", True),
        (" 3 ", 3),
    ],
)
def test_values(said: str, expected: object) -> None:
    found = evaluate(said, SCOPE)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "1 +",
        "widht",
        "pair + 1",
        "deep + 1",
        "kind * 3",
        "'a' * 9",
        "kind < 3",
        "1 / 0",
        "1 % 0",
        "0 ** -1",
        "(-8) ** 0.5",
        "9 ** 65",
        "10 ** 19",
        "1e308 * 10",
        "2 ** 62 * 2",
        "min()",
        "abs(1)",
        "width.real",
        "[1][0]",
        "(lambda: 1)()",
        "1 << 3",
        "1 in (1, 2)",
        "1j",
        "$width",
        "1; 2",
        "(" * 100 + "1" + ")" * 100,
        "-" * 199 + "x",
        "1 + " * 60 + "1",
    ],
)
def test_what_has_no_value_is_an_error_with_words(said: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(said, SCOPE)
    assert caught.value.what


def test_a_name_that_is_nearly_known() -> None:
    with pytest.raises(ExpressionError) as caught:
        substitute(text("$widht"), SCOPE)
    assert (caught.value.what, caught.value.remedy) == ("`$widht` is not known here", "did you mean `width`?")
    assert caught.value.at is not None and (caught.value.at.line, caught.value.at.column) == (5, 6)


def test_substitution_keeps_types_and_the_place_that_asks() -> None:
    whole, inside, listed = (substitute(text(said), SCOPE) for said in ("$width", "stage_${width // 2}_$kind", "$pair"))
    assert isinstance(whole, YamlScalar) and (whole.value, whole.raw, whole.line, whole.column) == (8, "$width", 5, 6)
    assert isinstance(inside, YamlScalar) and inside.value == "stage_4_a"
    assert isinstance(listed, YamlList) and len(listed.items) == 2 and (listed.line, listed.column) == (5, 6)


@pytest.mark.parametrize("said", ["5 $", "$", "100 %", "a$1"])
def test_a_dollar_before_no_name_is_a_dollar(said: str) -> None:
    assert substitute(text(said), SCOPE) is not None
    found = substitute(text(said), SCOPE)
    assert isinstance(found, YamlScalar) and found.value == said


@pytest.mark.parametrize(
    ("said", "expected"), [("deep", True), ("$deep", True), ("${width > 9}", False), ("$width != 1 and ${not deep}", False)]
)
def test_conditions_with_and_without_dollars(said: str, expected: bool) -> None:
    assert condition(text(said), SCOPE) is expected


@pytest.mark.parametrize("said", ["width", "kind", "$half"])
def test_a_condition_is_true_or_false_and_nothing_else(said: str) -> None:
    with pytest.raises(ExpressionError, match="must be true or false"):
        condition(text(said), SCOPE)


def test_references_are_found_in_text_and_in_when() -> None:
    assert references(YamlList((text("$a and ${b + max(c, 1)}"), text("d")), 1, 1)) == {"a", "b", "c", "max"}


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.sampled_from(["+", "-", "*", "//", "%", "<", "==", ">="]))
def test_whole_numbers_calculate_as_in_python(left: int, right: int, sign: str) -> None:
    said = f"{left} {sign} {right}"
    try:
        expected = eval(said)
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="divides by zero"):
            evaluate(said, {})
    else:
        found = evaluate(said, {})
        assert found == expected and type(found) is type(expected)


@given(st.text(max_size=40))
def test_no_text_is_worse_than_an_error(said: str) -> None:
    try:
        evaluate(said, SCOPE)
    except ExpressionError as error:
        assert error.what
