"""A report between two markers of a file: found, replaced, kept whole, and told to be out of date."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import UserError
from runner.report import section
from tests.report import places

PAGE = """\
# Mine

<!-- headtohead speed begin -->
old
<!-- headtohead speed end -->

Text after.
"""


def page(folder: Path, text: str = PAGE) -> Path:
    path = folder / "README.md"
    path.write_bytes(text.encode())
    return path


def test_the_text_between_the_markers_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    path = page(tmp_path)
    assert section.write(path, "speed", "| a |\n|---|\n")
    digest = section.digest("| a |\n|---|")
    assert path.read_text() == (
        f"# Mine\n\n<!-- headtohead speed begin {digest} -->\n\n| a |\n|---|\n\n<!-- headtohead speed end -->\n\nText after.\n"
    )
    assert not section.write(path, "speed", "| a |\n|---|\n"), "the second time there is nothing to change"


def test_states(tmp_path: Path) -> None:
    path = page(tmp_path)
    assert section.state(path, "speed", "old") == "stale", "it has no digest yet"
    section.write(path, "speed", "new")
    assert section.state(path, "speed", "new") == "current"
    assert section.state(path, "speed", "newer") == "stale"
    path.write_text(path.read_text().replace("new", "better"))
    assert section.state(path, "speed", "new") == section.state(path, "speed", "newer") == "edited"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Mine\n", "has no section speed. Paste these two lines where it belongs:\n\n<!-- headtohead speed begin -->\n<!-- headtohead"),
        (PAGE.replace("speed", "other"), "it has other"),
        (PAGE.replace("speed end", "speed"), "they are: begin$"),
        (PAGE + PAGE, "they are: begin, end, begin, end"),
        (PAGE.replace("begin", "x").replace("end -->", "begin -->").replace("x -->", "end -->"), "they are: end, begin"),
        ("```\n" + PAGE + "```\n", "has no section speed"),
    ],
)
def test_wrong_markers_are_refused_and_the_file_is_left(tmp_path: Path, text: str, message: str) -> None:
    path = page(tmp_path, text)
    for ask in (section.write, section.state):
        with pytest.raises(UserError, match=message):
            ask(path, "speed", "new")
    assert path.read_text() == text


def test_markers_shown_in_code_are_no_markers(tmp_path: Path) -> None:
    path = page(tmp_path, f"```html\n{PAGE}```\n{PAGE}")
    section.write(path, "speed", "new")
    assert path.read_text().startswith(f"```html\n{PAGE}```\n")
    assert path.read_text().count("new") == 1


def test_a_section_with_code_in_it_is_found_again(tmp_path: Path) -> None:
    path = page(tmp_path)
    for text in ("```sh\nh2h run\n```", "```sh\nnever closed", "~~~\n```\n~~~"):
        section.write(path, "speed", text)
        assert section.state(path, "speed", text) == "current"
    assert path.read_text().endswith("Text after.\n")


def test_sections_do_not_touch_each_other(tmp_path: Path) -> None:
    path = page(tmp_path, PAGE + PAGE.replace("speed", "speed-2"))
    section.write(path, "speed", "one")
    section.write(path, "speed-2", "two")
    assert (section.state(path, "speed", "one"), section.state(path, "speed-2", "two")) == ("current", "current")


def test_line_ends_permissions_and_links_are_kept(tmp_path: Path) -> None:
    path = page(tmp_path, PAGE.replace("\n", "\r\n"))
    path.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(path.name)
    section.write(link, "speed", "a\nb")
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert b"a\r\nb\r\n" in path.read_bytes() and path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
    assert section.state(path, "speed", "a\nb") == "current"


def test_a_file_that_cannot_be_written_is_as_it_was_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = page(tmp_path)

    def full(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UserError, match="No space left on device; it is as it was before"):
        section.write(path, "speed", "new")
    assert path.read_text() == PAGE and [each.name for each in tmp_path.iterdir()] == ["README.md"]


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\r")), st.text(alphabet="ab`~ \n#|"))
def test_any_text_comes_back(text: str, around: str) -> None:
    if "headtohead" in text:
        return
    whole = f"\n{section.empty('x')}\n{around}"
    found = section.find(Path("p"), whole, "x")
    assert found.before + section.empty("x") + found.after == whole
    again = section.find(Path("p"), f"{found.before}<!-- headtohead x begin -->\n{text}\n<!-- headtohead x end -->{found.after}", "x")
    assert section.digest(again.text) == section.digest(text)


def h2h(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    return subprocess.run(
        [sys.executable, "-m", "runner", "report", *words], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def test_the_command_writes_and_checks(tmp_path: Path) -> None:
    path = page(tmp_path)
    words = [str(places.write(tmp_path, places.EPYC)), "--into", "README.md", "--section", "speed"]
    stale = h2h(tmp_path, *words, "--check")
    assert (stale.returncode, stale.stdout) == (1, "") and "README.md: section speed is out of date" in stale.stderr
    assert path.read_text() == PAGE
    written = h2h(tmp_path, *words)
    assert (written.returncode, written.stdout) == (0, ""), written.stderr
    assert "AMD EPYC 7B13" in path.read_text()
    assert h2h(tmp_path, *words, "--check").returncode == 0
    path.write_text(path.read_text().replace("AMD EPYC", "Apple"))
    edited = h2h(tmp_path, *words, "--check")
    assert edited.returncode == 1 and "was changed by hand" in edited.stderr
    for wrong, message in (
        (["--into", "README.md"], "--section"),
        (["--section", "speed"], "--into"),
        (["--check"], "--into"),
        (["--into", "README.md", "--section", "a b"], "--section takes"),
        (["--into", "README.md", "--section", "speed", "--format", "json"], "markdown"),
        (["--into", "nowhere.md", "--section", "speed"], "nowhere.md cannot be read"),
    ):
        refused = h2h(tmp_path, words[0], *wrong)
        assert refused.returncode == 2 and message in refused.stderr and "Traceback" not in refused.stderr
