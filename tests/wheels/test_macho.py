"""Mach-O libraries written byte by byte are read back, and symbols come out in words."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import UserError
from runner.wheels import macho
from runner.wheels.macho import Need
from tests.wheels import written

SYMBOLS = st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1).map(lambda name: "_" + name), unique=True)


@given(SYMBOLS, SYMBOLS, st.lists(st.sampled_from(["/usr/lib/libc++.1.dylib", "@rpath/_a.so"]), unique=True), st.data())
def test_what_was_written_is_read(defines: list[str], needs: list[str], links: list[str], data: st.DataObject) -> None:
    numbers = [data.draw(st.sampled_from([*range(1, len(links) + 1), written.ANYWHERE])) for _ in needs]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lib.dylib"
        path.write_bytes(written.library(defines, list(zip(needs, numbers, strict=True)), links))
        found = macho.read(path)
    names = [Path(link).name for link in links]
    assert found.defines == set(defines)
    assert found.links == tuple(names)
    assert found.needs == tuple(
        Need(symbol, None if n == written.ANYWHERE else names[n - 1]) for symbol, n in zip(needs, numbers, strict=True)
    )


def test_a_weak_reference_is_no_need_and_a_re_export_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "lib.dylib"
    path.write_bytes(written.library(["_a"], [("_b", 1)], ["/x/one.dylib"], ["/x/two.dylib"], weak=["_c"]))
    found = macho.read(path)
    assert found.needs == (Need("_b", "one.dylib"),)
    assert (found.links, found.passes_on) == (("one.dylib", "two.dylib"), ("two.dylib",))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no Mach-O library"),
        (b"\x7fELF" + bytes(60), "no Mach-O library"),
        (written.library(["_a"], cpu=written.X86_64), "nothing for arm64"),
        (written.library(["_a"])[:-4], "ends before its symbols do"),
    ],
)
def test_what_is_no_such_library_is_a_plain_message(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "lib.dylib"
    path.write_bytes(data)
    with pytest.raises(UserError, match=message):
        macho.read(path)


@pytest.mark.parametrize(
    ("symbol", "words"),
    [
        ("__ZN3tsl8internal10LogMessageC1EPKcii", "tsl::internal::LogMessage::LogMessage(char const*, int, int)"),
        ("__ZN10tensorflow12NameAttrListD1Ev", "tensorflow::NameAttrList::~NameAttrList()"),
        ("__ZNK10tensorflow11TensorShape8dim_sizeEi", "tensorflow::TensorShape::dim_size(int) const"),
        ("_TF_AssignVariable", "TF_AssignVariable"),
        ("__ZN", "_ZN"),
        ("", ""),
    ],
)
def test_symbols_in_the_words_of_their_source(symbol: str, words: str) -> None:
    assert macho.demangled(symbol) == words


@given(st.text(st.characters(codec="ascii", exclude_characters="\0")))
def test_no_symbol_is_an_error(text: str) -> None:
    assert isinstance(macho.demangled("__Z" + text), str)
    macho.function_name("__ZN" + text)


def test_the_name_of_a_function_ends_before_its_arguments() -> None:
    assert macho.function_name("__ZN3tsl8internal10LogMessageC1EPKcii") == "__ZN3tsl8internal10LogMessageC1E"
    assert macho.function_name("__ZNK4absl6Status7messageEv") == "__ZNK4absl6Status7messageE"
    assert macho.function_name("_TF_NewTensor") is None
    assert macho.function_name("__ZN4absl8StatusOrIiEC1Ev") is None
