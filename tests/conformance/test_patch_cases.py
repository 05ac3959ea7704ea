"""The corpus of hostile and honest patches, through `idkrules patch`: verdicts, reasons, paths and counts."""

import json
from pathlib import Path

import pytest

from idkmesh_rules.cli.options import Format
from idkmesh_rules.cli.patch import patch
from tests.support.places import FIXTURES, shared


def corpus() -> list[Path]:
    try:
        folder = shared("patch-cases")
    except pytest.skip.Exception:
        return []
    return sorted(case for case in folder.iterdir() if (case / "expect.json").exists())


def answer(file: Path, allow: list[str], prose: bool, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict]:
    code = patch([file], allow=allow, allow_prose=prose, output_format=Format.JSON)
    return code, json.loads(capsys.readouterr().out)


def test_the_corpus_is_there():
    assert len(list(shared("patch-cases").iterdir())) > 200


@pytest.mark.parametrize("prose", [False, True], ids=["default", "prose"])
@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
def test_a_case_comes_out_as_it_must(case, prose, capsys):
    expect = json.loads((case / "expect.json").read_text())
    verdict = expect["with_prose_allowed" if prose else "default"]
    if verdict == "any":
        pytest.skip("only the tree can tell")
    code, told = answer(case / "changes.patch", expect["allow"], prose, capsys)
    assert told["verdict"] == verdict, told["message"]
    assert code == (0 if verdict == "accept" else 1)
    if verdict == "accept":
        wanted = set(expect["expected_paths"])
        paths = {path["path"] for path in told["paths"]}
        assert paths in (wanted, wanted | set(expect.get("expected_also_read") or ()))
        assert told["added_lines"] == expect.get("expected_added_lines", told["added_lines"])
    elif not prose and expect["reject_reason"] is not None:
        assert told["reason"] == expect["reject_reason"], told["message"]


@pytest.mark.parametrize(
    "case", sorted((FIXTURES / "patches").glob("*/expect.json")), ids=lambda case: case.parent.name
)
def test_what_the_fuzzer_found_stays_fixed(case, capsys):
    expect = json.loads(case.read_text())
    _, told = answer(case.parent / "changes.patch", ["**"], True, capsys)
    assert (told["verdict"], told["reason"]) == (expect["verdict"], expect["reason"])
