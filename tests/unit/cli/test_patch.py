"""`idkrules patch`: what it prints and with which code it exits."""

import io
import json
import sys

import pytest
import typer

from idkmesh_rules.cli.options import Format
from idkmesh_rules.cli.patch import patch

OK = b"diff --git a/docs/ok.md b/docs/ok.md\n--- a/docs/ok.md\n+++ b/docs/ok.md\n@@ -1,2 +1,2 @@\n line1\n-old\n+new\n"
RENAME = b"diff --git a/docs/a b/src/b\nsimilarity index 100%\nrename from docs/a\nrename to src/b\n"


@pytest.fixture
def file(tmp_path):
    def write(data: bytes, name: str = "changes.patch"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def told(capsys, *files, **options):
    code = patch(list(files), output_format=Format.JSON, **options)
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_accepted_patch_in_json(file, capsys):
    path = file(OK)
    assert told(capsys, path) == (
        0,
        [
            {
                "file": str(path),
                "verdict": "accept",
                "reason": None,
                "message": None,
                "line": None,
                "paths": [{"path": "docs/ok.md", "side": "new", "authorized": True, "reason": None}],
                "files": [
                    {
                        "operation": "modify",
                        "old_path": "docs/ok.md",
                        "new_path": "docs/ok.md",
                        "old_mode": None,
                        "new_mode": None,
                        "binary": False,
                        "symlink": False,
                        "submodule": False,
                        "added_lines": 1,
                        "removed_lines": 1,
                    }
                ],
                "added_lines": 1,
                "removed_lines": 1,
            }
        ],
    )


@pytest.mark.parametrize(
    ("data", "options", "reason", "line"),
    [
        (OK, {"allow": ["src/**"]}, "path", 1),
        (OK, {"forbid": ["*.MD"]}, "path", 1),
        (RENAME, {"allow": ["docs/**"]}, "path", 1),
        (OK + b"bye\n", {}, "prose", 8),
        (b"hi\n" + OK + OK, {}, "prose", 1),
        (b"hi\n" + OK + OK, {"allow_prose": True}, "repeated", 9),
        (OK + b"+x\nbye\n", {}, "malformed", 8),
        (b"hi\n", {}, "empty", None),
        (OK.replace(b"docs/ok.md", b".git/x"), {"allow": ["src/**"]}, "git-dir", 1),
        (OK.replace(b"docs/ok.md", b".gitmodules"), {}, "git-meta", 1),
        (b"diff --git a/x b/x\nnew file mode 100755\ndiff --git a/y b/y\nnew file mode 120000\n", {}, "symlink", 3),
        (b"diff --git a/x b/x\nnew file mode 100755\ndiff --git a/y b/y\nnew file mode 160000\n", {}, "gitlink", 3),
        (b"diff --git a/x b/x\nnew file mode 100755\n", {}, "exec-bit", 1),
        (
            b"diff --git a/x b/x\nindex 1234567..89abcde 100644\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n",
            {},
            "binary",
            1,
        ),
        (
            b"".join(b"diff --git a/%d b/%d\nnew file mode 100644\n" % (at, at) for at in range(201)),
            {},
            "too-many-files",
            None,
        ),
    ],
)
def test_the_first_reason_is_told(file, capsys, data, options, reason, line):
    code, (answer,) = told(capsys, file(data), **options)
    assert code == 1
    assert (answer["verdict"], answer["reason"], answer["line"]) == ("reject", reason, line)
    assert answer["message"]


def test_a_disagreeing_second_parser_is_heard(file, capsys, monkeypatch):
    import whatthepatch.patch

    monkeypatch.setattr(whatthepatch.patch, "parse_unified_diff", lambda text: [])
    code, (answer,) = told(capsys, file(OK))
    assert (code, answer["reason"]) == (1, "second-opinion")


def test_a_structural_refusal_tells_no_paths_and_no_counts(file, capsys):
    _, (answer,) = told(capsys, file(OK[:-1]))
    assert (answer["paths"], answer["files"], answer["added_lines"], answer["removed_lines"]) == ([], [], None, None)


def test_a_rejecting_condition_tells_them(file, capsys):
    _, (answer,) = told(capsys, file(RENAME), allow=["docs/**"])
    assert [(path["path"], path["side"], path["authorized"]) for path in answer["paths"]] == [
        ("docs/a", "old", True),
        ("src/b", "new", False),
    ]
    assert answer["files"][0]["operation"] == "rename"


def test_a_file_that_cannot_be_read_is_an_error(file, capsys, tmp_path):
    code, answers = told(capsys, tmp_path / "absent", file(OK))
    assert code == 3
    assert [answer["verdict"] for answer in answers] == ["error", "accept"]
    assert answers[0]["reason"] == "unreadable"
    code, _ = told(capsys, tmp_path / "absent", file(OK + OK))
    assert code == 1


def test_a_patch_over_the_limit_is_refused_and_not_read_whole(file, capsys):
    path = file(b"")
    with path.open("wb") as stream:
        stream.truncate(2**40)
    _, (answer,) = told(capsys, path)
    assert (answer["reason"], answer["line"]) == ("limit", None)


def test_standard_input(capsys, monkeypatch):
    from pathlib import Path

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OK)))
    code, (answer,) = told(capsys, Path("-"))
    assert (code, answer["file"], answer["verdict"]) == (0, "-", "accept")


def test_text_names_the_reason_the_remedy_and_every_path(file, capsys):
    path = file(RENAME + OK)
    assert patch([path]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: accept (2 files, +1 -1 lines)",
        "  rename           +0 -0  docs/a -> src/b",
        "  modify           +1 -1  docs/ok.md",
    ]
    assert patch([path], allow=["docs/**"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: reject (path, line 1)",
        "  src/b: it is outside the allowed paths",
        "  Remedy: leave this file out, or have the WorkUnit allow it",
        "  rename           +0 -0  docs/a -> src/b",
        "  modify           +1 -1  docs/ok.md",
        "  not authorized: src/b: it is outside the allowed paths",
    ]


def test_text_prints_no_control_characters(file, capsys):
    assert patch([file(OK.replace(b"docs/ok.md", "x\u202ey".encode()))]) == 1
    assert all(line.isprintable() for line in capsys.readouterr().out.splitlines())


def test_a_refused_pattern_is_a_usage_error(file):
    with pytest.raises(typer.BadParameter, match="negates"):
        patch([file(OK)], allow=["!x"])
