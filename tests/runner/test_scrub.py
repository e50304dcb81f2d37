"""Nothing of a bundle says whose machine it is."""

from __future__ import annotations

import json
import re
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner import bundle, scrub
from runner.report import render
from runner.runfile import read
from tests.report.recorded import FILE

LETTERS = st.characters(categories=("Lu", "Ll", "Lo", "Nd"))
OURS = set(re.findall(r"[^\W_]+", FILE.read_text(encoding="utf-8").casefold())) | {word.casefold() for word in scrub.WORDS}
NAME = st.text(LETTERS, min_size=3, max_size=12).filter(lambda name: not name.isnumeric() and name.casefold() not in OURS)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


@st.composite
def people(draw: st.DrawFn) -> tuple[scrub.Secrets, dict[str, str]]:
    """Secrets, and each of them by what it is."""
    user = draw(NAME)
    told = {
        "user": user,
        "home": draw(st.sampled_from(["/Users/", "/home/", "/opt/people/", "/Volumes/Externe Platte/"])) + user,
        "host": draw(NAME) + draw(st.sampled_from(["s-MacBook-Pro.local", "-mbp", ".example.org"])),
        "serial": draw(st.text("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", min_size=10, max_size=12)),
    }
    return scrub.Secrets((told["home"],), (user,), (told["host"],), (told["serial"],)), told


def written(told: dict[str, str]) -> st.SearchStrategy[str]:
    """A text of the kind that frameworks and people write, with a secret in it."""
    forms = {
        "home": ["{}/env/bin/python", "open('{}/x y.txt')", "file://{}/a", "{}", "PATH={}/bin:/bin"],
        "user": ["hello {}", "({})", "owner={}", "{}_cache", "{}", "x-{}-y", "/tmp/pip-{}"],
        "host": ["{}: error", "on {}.", "ssh://{}/", "{}"],
        "serial": ["serial {}", '"{}"'],
    }
    options = [form.format(variant) for what, texts in forms.items() for form in texts for variant in variants(told[what])]
    return st.tuples(TEXT, st.sampled_from(options), TEXT).map(" ".join)


def variants(text: str) -> set[str]:
    return {text, unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text)}


def assert_untold(text: str, told: dict[str, str]) -> None:
    """As words, in any case and form: a name of three letters may well be a part of another word."""
    for what, secret in told.items():
        for form in variants(secret):
            found = re.search(r"(?<![^\W_])" + re.escape(form) + r"(?![^\W_])", text, re.IGNORECASE)
            assert found is None, (what, secret, text)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data(), who=people())
def test_no_secret_is_left_in_a_text(data: st.DataObject, who: tuple[scrub.Secrets, dict[str, str]]) -> None:
    secrets, told = who
    assert_untold(secrets.scrub(data.draw(written(told))), told)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data(), who=people())
def test_no_secret_is_left_in_a_bundle(data: st.DataObject, who: tuple[scrub.Secrets, dict[str, str]], tmp_path: Path) -> None:
    """Wherever free text stands: commands, variables, reasons, versions, notes, logs, findings, names of frameworks and of files."""
    secrets, told = who
    texts = written(told)
    header, *rest = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    header["command"] += data.draw(st.lists(texts, max_size=2))
    header["environment"][data.draw(st.sampled_from(["PATH", told["user"]]))] = data.draw(texts)
    header["settings"]["request"]["pythons"] = {"pytorch": data.draw(texts)}
    header["machine"]["chip"] = data.draw(texts)
    header["frameworks"]["pytorch"]["versions"]["torch"] = data.draw(texts)
    for record in rest[:8]:
        if record["record"] == "round":
            record |= {"status": "crashed", "reason": data.draw(texts), "remedy": data.draw(texts), "blocks": []}
            record["notes"] = [{"code": "x", "text": data.draw(texts)}]
    contents = bundle.Contents(
        doctor={"findings": [{"what": data.draw(texts)}], "frameworks": {told["user"]: {"versions": {"x": data.draw(texts)}}}},
        doctor_text=data.draw(texts),
        conformance=[{"findings": [{"reason": data.draw(texts)}]}],
        run="".join(json.dumps(record) + "\n" for record in (header, *rest)),
        logs={f"logs/{told['user']}-x.log": data.draw(texts) + "\n" + data.draw(texts)},
    )
    path = tmp_path / f"{abs(hash(str(told)))}.zip"
    path.unlink(missing_ok=True)
    bundle.write(path, contents, secrets)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            assert_untold(name, told)
            assert_untold(archive.read(name).decode(), told)
    with bundle.run_file(bundle.read(path)) as file:
        assert file is not None
        assert_untold(render(read(file), "markdown"), told)


def test_a_run_without_secrets_comes_through_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    bundle.write(path, bundle.Contents(run=FILE.read_text(encoding="utf-8")), scrub.Secrets())
    with bundle.run_file(bundle.read(path)) as file:
        assert file is not None
        for format in ("markdown", "csv", "json"):
            assert render(read(file), format) == render(read(FILE), format)


@pytest.mark.parametrize("name", ["run", "train", "cpu", "round", "header", "machine", "torch", "records"])
def test_somebody_called_as_a_word_of_results_can_still_be_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    bundle.write(path, bundle.Contents(run=FILE.read_text(encoding="utf-8")), scrub.Secrets((f"/home/{name}",), (name,), (name,)))
    with bundle.run_file(bundle.read(path)) as file:
        assert file is not None
        assert len(read(file).rounds) == len(read(FILE).rounds)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/Users/asa/env/bin/python", "~/env/bin/python"),
        ("/Users/somebody-else/x", "~/x"),
        ("/home/ci/x:/home/ci/y", "~/x:~/y"),
        ("/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/h2h-1", "~/T/h2h-1"),
        ("/Users/Shared/data", "/Users/Shared/data"),
        ("ÅSA", "«user»"),
        ("A\u030asa and Asas-MacBook.local", "«user» and «host»"),
        ("asahi", "asahi"),
        ("SN C02ABC123DEF", "SN «serial»"),
        ("train", "train"),
    ],
)
def test_what_stands_for_a_secret(text: str, wanted: str) -> None:
    secrets = scrub.Secrets(("/Users/asa",), ("asa", "Åsa"), ("Asas-MacBook.local",), ("C02ABC123DEF",))
    assert secrets.scrub(text) == wanted


def test_this_machine_has_a_home_and_a_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import platform

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USER", "somebody")
    secrets = scrub.of_this_machine()
    assert secrets.scrub(f"{tmp_path}/x by somebody on {platform.node()}!") == "~/x by «user» on «host»!"


# --- reading ------------------------------------------------------------------------------------------------------------------


def archive(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, text in members.items():
            file.writestr(name.replace("__", "."), text)
    return path


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"x": "y"}, "no bundle"),
        (
            {"bundle__json": '{"bundle": 99, "headtohead": "9.0"}'},
            r"version 99 .* reads version 1; use the headtohead that wrote it \(9\.0\)",
        ),
        ({"bundle__json": "no json"}, "cannot be read as a bundle"),
        ({"bundle__json": "[]"}, "cannot be read as a bundle"),
        ({"bundle__json": '{"bundle": 1}', "doctor__json": "{"}, "no valid JSON"),
    ],
)
def test_what_is_no_bundle_is_said_to_be_none(members: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(bundle.BundleError, match=words):
        bundle.read(archive(tmp_path / "x.zip", **members))


def test_a_bundle_that_was_cut_off(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", bundle__json='{"bundle": 1}')
    path.write_bytes(path.read_bytes()[:-30])
    assert not bundle.is_bundle(path)
    with pytest.raises(bundle.BundleError, match="cut off"):
        bundle.read(path)


def test_a_member_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "x.zip", bundle__json='{"bundle": 1}', doctor__md="x" * 4096)
    monkeypatch.setattr(bundle, "LARGEST", 1024)
    with pytest.raises(bundle.BundleError, match="larger than"):
        bundle.read(path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("mine")
    with pytest.raises(bundle.BundleError, match="not overwritten"):
        bundle.write(tmp_path / "x.zip", bundle.Contents(), scrub.Secrets())
    with pytest.raises(bundle.BundleError, match="cannot be written"):
        bundle.write(tmp_path / "none" / "x.zip", bundle.Contents(), scrub.Secrets())


def test_only_logs_of_the_run_itself_are_packed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("mine")
    run = tmp_path / "run"
    (run / "logs").mkdir(parents=True)
    (run / "logs" / "bad.log").write_text("x" * (bundle.LOG_BYTES + 5) + "end")
    lines: list[dict[str, Any]] = [
        {"record": "round", "status": "crashed", "log": "logs/bad.log"},
        {"record": "round", "status": "crashed", "log": "../secret.txt"},
        {"record": "round", "status": "ok", "log": "logs/good.log"},
    ]
    (run / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"torn')
    contents = bundle.of_run(run)
    assert contents.logs is not None
    assert list(contents.logs) == ["logs/bad.log"]
    assert contents.logs["logs/bad.log"].endswith("end")
    assert len(contents.logs["logs/bad.log"]) == bundle.LOG_BYTES
    bundle.write(tmp_path / "x.zip", contents, scrub.Secrets())
    assert bundle.read(tmp_path / "x.zip").run == "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    with pytest.raises(bundle.BundleError, match="name the folder of a run"):
        bundle.of_run(tmp_path / "nowhere")
