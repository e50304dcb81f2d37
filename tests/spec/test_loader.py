"""Text to tree: files that cannot be read, scalars as people mean them, merge keys, bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from runner.spec import loader
from runner.spec.loader import MAX_BYTES, head, load, parse
from runner.spec.problems import Problem, SpecError, did_you_mean
from runner.spec.tree import YamlMap, YamlScalar


def value(text: str) -> object:
    tree = parse(f"a: {text}\n", "w.yaml").values["a"]
    assert isinstance(tree, YamlScalar)
    return tree.value


def message(path: Path) -> str:
    with pytest.raises(SpecError) as caught:
        load(path)
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("1e3", 1000.0),
        ("-1.5e+2", -150.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("0", 0),
        ("-7", -7),
        ("1_000_000", 1_000_000),
        ("0x1F", 31),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("y", "y"),
        ("12:30", "12:30"),
        ("2001-01-01", "2001-01-01"),
        ("'1e-3'", "1e-3"),
        ('"no"', "no"),
        ("!!str 3.10", "3.10"),
        ("1.2.3", "1.2.3"),
        ("e3", "e3"),
    ],
)
def test_scalars_are_what_people_mean(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected and type(found) is type(expected)


def test_merge_keys_may_be_overridden_and_the_first_of_several_wins() -> None:
    tree = parse("a: &a {x: 1, y: 2}\nb: &b {x: 3, z: 4}\nc: {<<: [*a, *b], y: 5}\n", "w.yaml").values["c"]
    assert isinstance(tree, YamlMap)
    assert {key: item.value for key, item in tree.values.items() if isinstance(item, YamlScalar)} == {"x": 1, "y": 5, "z": 4}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n\tb: 2\n", "w.yaml:2:1: a tab stands where YAML wants spaces; indent with spaces"),
        ("a: [1, 2\n", "w.yaml:2:1: a list `[` is not closed, or a comma is missing; it opens in line 1"),
        ("a: \x07\n", "w.yaml:1:4: the character '\\x07' cannot stand in YAML"),
        ("[" * 3000, "w.yaml:1:61: the file is nested deeper than 60 levels"),
    ],
)
def test_messages_are_the_same_without_the_c_library(monkeypatch: pytest.MonkeyPatch, text: str, expected: str) -> None:
    monkeypatch.setattr(loader, "_Loader", yaml.SafeLoader)
    with pytest.raises(SpecError) as caught:
        parse(text, "w.yaml")
    assert str(caught.value) == expected


def test_places_count_from_one_in_characters() -> None:
    tree = parse("ä: {ü: 1,\n  b: x}\n", "w.yaml").values["ä"]
    assert isinstance(tree, YamlMap)
    assert [(key.line, key.column) for key in tree.keys.values()] == [(1, 5), (2, 3)]


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert list(load(path).values) == ["a"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a: 1\nb: \xe9\n", "FILE:2:4: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        ("a: 1".encode("utf-16"), "FILE:1:1: the file is UTF-16; save it as UTF-8"),
        (b"", "FILE:1:1: the file is empty; `h2h new NAME` writes one to start from"),
        (b"a: \x00\n", "FILE:1:4: the character '\\x00' cannot stand in YAML"),
        (b"#" * (MAX_BYTES + 1), "FILE: the file is larger than 1,048,576 bytes; no workload needs that much"),
    ],
)
def test_bytes_that_are_no_workload(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(data)
    assert message(path) == expected


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    assert message(tmp_path) == "FILE: this is a folder, not a file; name a `.yaml` file in it"
    assert message(tmp_path / "none.yaml") == "FILE: there is no such file"
    assert message(tmp_path / "a\0b.yaml") == "FILE: the file cannot be read; embedded null byte"


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("a: 1")

    def refuse(self: Path, *arguments: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert message(path) == "FILE: the file cannot be read; Permission denied"


def test_the_head_of_a_file_is_read_without_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("a: {name: inner}\nname: outer\ntitle: 3.10\nb: [1, 2\n")
    assert head(path, ("name", "title")) == {"name": "outer", "title": "3.10"}
    assert head(tmp_path / "none.yaml", ("name",)) == {}


def test_a_problem_leaves_out_what_it_does_not_know() -> None:
    assert str(Problem("f", 0, 0, "what", remedy="do")) == "f: what; do"
    assert str(Problem("f", 2, 3, "what", "why", "do")) == "f:2:3: what; why; do"


def test_problems_are_sorted_by_place_and_said_once() -> None:
    one, two = Problem("f", 10, 1, "b"), Problem("f", 9, 1, "a")
    assert SpecError([one, two, one]).problems == [two, one]


def test_did_you_mean() -> None:
    assert did_you_mean("kernl", ["kernel", "filters"]) == "did you mean `kernel`?"
    assert did_you_mean("lenet", ["lenet5-mnist", "resnet"]) == "did you mean `lenet5-mnist`?"
    assert did_you_mean("zzz", ["b", "a"]) == "there are a, b"
    assert did_you_mean("zzz", ["a"]) == "there is only `a`"
    assert did_you_mean("zzz", []) == ""
