"""What the documentation shows is what happens: commands are run, outputs compared, generated pages regenerated."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from idkmesh_rules.paths import PatternError, compile_allow, compile_forbid
from tests.support.bundles import Bundle, make
from tests.support.command import idkrules
from tests.support.places import ROOT

README = (ROOT / "README.md").read_text()
DOCUMENTS = (ROOT / "docs" / "documents.md").read_text()
AUDITING = (ROOT / "docs" / "auditing.md").read_text()
MINIMAL = ROOT / "docs" / "examples" / "minimal"


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def rows(page: str, header: str) -> Iterator[list[str]]:
    """The cells of the table whose first line is `header`, below its rule."""
    body = page[page.index(f"\n{header}\n") + 1 :].split("\n\n")[0]
    for line in body.rstrip().split("\n")[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def run_bash(script: str, place: Path) -> "subprocess.CompletedProcess[str]":
    """Run lines of a page as a CI step does, with `idkrules` on hand and a directory of its own for temporary files."""
    temporary = place.parent / f"{place.name}-temporary"
    temporary.mkdir(exist_ok=True)
    script = f'idkrules() {{ {sys.executable} -m idkmesh_rules "$@"; }}\n{script}'
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    return subprocess.run(["bash", "-ec", script], cwd=place, capture_output=True, text=True, env=environment)


def holds(shown: Any, real: Any) -> bool:
    """Whether an excerpt of a document is somewhere in it: objects may leave keys out, all else is equal."""
    below = real.values() if isinstance(real, dict) else real if isinstance(real, list) else ()
    return _part(shown, real) or any(holds(shown, each) for each in below)


def _part(shown: Any, real: Any) -> bool:
    if isinstance(shown, dict) and isinstance(real, dict):
        return all(key in real and _part(value, real[key]) for key, value in shown.items())
    if isinstance(shown, list) and isinstance(real, list):
        return len(shown) == len(real) and all(map(_part, shown, real))
    return type(shown) is type(real) and shown == real


def test_the_demo_prints_what_the_readme_shows() -> None:
    run = subprocess.run([sys.executable, "fixtures/demo.py"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0
    assert run.stdout.strip() == blocks("text")[0].strip()


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [("honest", "accepted", 0), ("forged", "rejected", 1), ("drift", "a person has to look", 4)],
)
def test_the_ci_lines_run_in_a_checkout_and_fail_the_step(tmp_path: Path, name: str, said: str, code: int) -> None:
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "init", "--quiet", str(checkout)], check=True)
    bundle = make(checkout / "case")
    bundle.candidate.rename(checkout / "bundle")
    bundle.work_unit.rename(checkout / "work-unit.json")
    bundle.plan.rename(checkout / "plan.json")
    bundle.manifest.rename(checkout / "bundle" / "result-manifest.json")
    if name == "forged":
        (checkout / "bundle" / "changes.patch").write_text("")
    if name == "drift":
        plan = json.loads((checkout / "plan.json").read_text())
        plan["binding"]["work_unit_version"] += 1
        (checkout / "plan.json").write_text(json.dumps(plan))
    run = run_bash(blocks("bash")[0], checkout)
    assert (run.stdout.splitlines()[-1], run.returncode) == (said, code), run.stderr
    git = subprocess.run(
        ["git", "-C", str(checkout), "status", "--porcelain", "--untracked-files=all"], capture_output=True, text=True
    )
    assert "decision.json" not in git.stdout


def test_the_command_is_installed_where_the_readme_says() -> None:
    command = Path(sys.executable).with_name("idkrules")
    assert f".venv/bin/{command.name} --help" in README
    assert subprocess.run([command, "--help"], capture_output=True).returncode == 0


def test_a_plan_is_pinned_as_the_readme_shows(tmp_path: Path) -> None:
    shown = next(block for block in blocks("console") if "idkrules digest" in block)
    command, _, output = shown.partition("\n")
    real = idkrules(*command.split()[2:], cwd=ROOT).stdout
    digest = real.split()[0]
    assert output.replace("sha256:…", digest) == real
    assert idkrules("digest", "unified-diff", cwd=tmp_path).stdout.split()[0] == digest
    bundle = make(tmp_path)
    assert any("unpinned" in note for note in bundle.evaluate().notes)
    bundle.rewrite(
        "evaluator-plan.json", lambda plan: plan.update(json.loads(blocks("json")[0].replace("sha256:…", digest)))
    )
    assert bundle.evaluate(require_pin=True).recommendation.value == "accept_candidate"


def test_the_python_lines_run(tmp_path: Path) -> None:
    bundle = make(tmp_path)
    for source, target in (
        ("evaluator-plan.json", "plan.json"),
        ("result-manifest.json", "manifest.json"),
        ("candidate", "bundle"),
    ):
        (bundle.place / source).rename(tmp_path / target)
    run = subprocess.run(
        [sys.executable, "-c", blocks("python")[0]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert run.stdout == "accept_candidate []\n", run.stderr


def test_the_yaml_lines_are_of_the_language() -> None:
    """The README's excerpt is below the floor, and that is all that is wrong with it."""
    header = 'schema_version: "1.0"\nbundle: {id: excerpt, version: 1.0.0, owner: readme, backend: unified_diff}\n'
    from idkmesh_rules.checks import backend_kinds
    from idkmesh_rules.policy import load_bundle

    bundle = load_bundle((header + blocks("yaml")[0]).encode(), "README.md", backend_kinds)
    assert list(bundle.validators) == ["independent-review"]


def test_the_tests_in_the_reference_are_of_the_language() -> None:
    from idkmesh_rules.checks import backend_kinds
    from idkmesh_rules.policy import floor_for, load_bundle
    from idkmesh_rules.policy.testing.read import read_suite
    from idkmesh_rules.policy.testing.run import run_case, staged

    rules = (
        (ROOT / "policies" / "unified-diff" / "bundle.yaml").read_text().replace("id: unified-diff", "id: docs-rules")
    )
    bundle, kinds = load_bundle(rules.encode(), "bundle.yaml", backend_kinds), backend_kinds("unified_diff")
    page = blocks("yaml", (ROOT / "docs" / "rule-bundles.md").read_text())[0]
    floor = floor_for("unified_diff", kinds)
    (case,) = staged(read_suite(page.encode(), "tests.yaml", bundle, kinds, floor), kinds)
    assert "independent-review/worker-succeeded" in run_case(bundle, case, floor).observed.causes


def test_every_file_that_the_docs_link_to_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target, section in re.findall(r"\]\(([^)#:]+)(?:#([a-z-]+))?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
            titles = re.findall(r"^#+ (.*)", (page.parent / target).read_text(), re.MULTILINE) if section else [""]
            assert section in [title.lower().replace(" ", "-") for title in titles], f"{page.name}: {target}#{section}"


def test_every_verb_is_in_the_readme_and_every_exit_code_in_the_table() -> None:
    help_text = idkrules("--help").stdout
    verbs = re.findall(r"^  ([a-z-]+)  ", help_text[help_text.index("Commands:") :], re.MULTILINE)
    assert len(verbs) >= 6
    assert all(f"idkrules {verb}" in README.replace("\n", " ") for verb in verbs)
    assert re.findall(r"^\| (\d) \|", README, re.MULTILINE) == list("012345")


def test_generated_pages_are_current() -> None:
    spec = importlib.util.spec_from_file_location("idkrules_docs_builder", ROOT / "docs" / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, content in module.generated().items():
        assert (ROOT / name).read_text() == content, f"{name}: run `make docs`"


def test_a_refusal_as_json_has_reason_and_fault(tmp_path: Path) -> None:
    bundle = make(tmp_path / "case")
    bundle.manifest.write_text("{}")
    printed = json.loads(idkrules(*bundle.arguments(tmp_path / "out"), "--format", "json").stdout)
    assert (printed["reason"], printed["fault"]) == ("manifest-invalid", "worker")


def test_the_minimal_example_is_accepted_and_shown_whole(tmp_path: Path) -> None:
    assert Bundle(MINIMAL).evaluate().recommendation.value == "accept_candidate"
    shown = [*blocks("json", DOCUMENTS)[:3], *blocks("diff", DOCUMENTS)]
    names = ["work-unit.json", "evaluator-plan.json", "result-manifest.json", "candidate/changes.patch"]
    assert shown == [(MINIMAL / name).read_text() for name in names]
    assert sorted(str(path.relative_to(MINIMAL)) for path in MINIMAL.rglob("*") if path.is_file()) == sorted(names)
    script = blocks("bash", DOCUMENTS)[0].replace("docs/examples", str(ROOT / "docs" / "examples"))
    place = tmp_path / "place"
    place.mkdir()
    assert run_bash(script, place).stdout.startswith("accept_candidate"), "the command of docs/documents.md"


def test_the_extension_of_a_plan_is_of_the_format(tmp_path: Path) -> None:
    digest = idkrules("digest", "policies/unified-diff", cwd=ROOT).stdout.split()[0]
    extensions = json.loads(blocks("json", DOCUMENTS)[3].replace("sha256:…", digest))
    bundle = make(tmp_path)
    bundle.rewrite("evaluator-plan.json", lambda plan: plan.update(extensions=extensions))
    assert bundle.evaluate(require_pin=True).recommendation.value == "accept_candidate"


def test_path_patterns_match_as_the_table_says() -> None:
    table = list(rows(DOCUMENTS, "| pattern | allows | doesn't allow | forbids | doesn't forbid |"))
    assert len(table) >= 10
    for cells in table:
        (pattern,), allowed, outside, forbidden, free = (re.findall(r"`([^`]+)`", cell) for cell in cells)
        allow, forbid = compile_allow((pattern,)), compile_forbid((pattern,))
        assert [path for path in allowed if not allow.match(path)] == [], f"{pattern} allows"
        assert [path for path in outside if allow.match(path)] == [], f"{pattern} doesn't allow"
        assert [path for path in forbidden if not forbid.match(path)] == [], f"{pattern} forbids"
        assert [path for path in free if forbid.match(path)] == [], f"{pattern} doesn't forbid"


def test_refused_patterns_are_refused() -> None:
    table = list(rows(DOCUMENTS, "| pattern | why |"))
    assert len(table) >= 10
    for written, _ in table:
        for compiled in (compile_allow, compile_forbid):
            with pytest.raises(PatternError):
                compiled((json.loads(written.strip("`")),))


def properties(schema: dict[str, Any], node: dict[str, Any], path: str = "") -> Iterator[tuple[str, str, bool]]:
    """(dotted name, description, required in its object) of every property of a schema."""
    for part in (node, *node.get("allOf", ())):
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if "items" in part:
            yield from properties(schema, part["items"], f"{path}[]")
        for name, inner in part.get("properties", {}).items():
            full = f'{path}["{name}"]' if "." in name else f"{path}.{name}".lstrip(".")
            yield full, inner.get("description", ""), name in part.get("required", ())
            yield from properties(schema, inner, full)


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ("WorkUnit 0.2", ["work-unit-0.2"]),
        ("EvaluatorPlan 0.2, 0.3, 0.4", ["evaluator-plan-0.2", "evaluator-plan-0.3", "evaluator-plan-0.4"]),
        ("EvaluatorPlan 0.1, exact JSON", ["evaluator-plan-0.1-json"]),
        ("EvaluatorPlan 0.1, workspace", ["evaluator-plan-0.1-workspace"]),
        ("EvaluatorPlan 0.5, sandboxed", ["evaluator-plan-0.5"]),
        ("ResultManifest 0.1", ["result-manifest-0.1"]),
    ],
)
def test_the_field_reference_is_that_of_the_schemas(section: str, names: list[str]) -> None:
    meanings: dict[str, set[str]] = {}
    versions: dict[str, set[str]] = {}
    for name in names:
        schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
        for path, meaning, required in properties(schema, schema):
            meanings.setdefault(path, set()).update({meaning} - {""})
            versions.setdefault(path, set()).update({name.rpartition("-")[2]} if required else set())
    assert {path: found for path, found in meanings.items() if len(found) != 1} == {}, "not described in one way"
    expected = {
        f"`{path}`": ("yes" if len(found) == len(names) else ", ".join(sorted(found)) or "no", *meanings[path])
        for path, found in versions.items()
    }
    page = DOCUMENTS[DOCUMENTS.index(f"\n### {section}\n") :]
    table = list(rows(page, "| field | required | read by | meaning |"))
    assert {cells[0]: (cells[1], cells[3]) for cells in table} == expected
    readers = {cells[0] for cells in rows(DOCUMENTS, "| read by | meaning |")}
    assert {cells[2] for cells in table} <= readers


def test_a_result_can_be_traced_as_the_auditing_page_says(tmp_path: Path) -> None:
    """Each command of the page is run and prints what the page shows; digests and lines of the bundle aside."""
    place = tmp_path / "place"
    case = ROOT / "fixtures" / "reject" / "paths-authorized--forbidden-path"
    Bundle(case).evaluate(output_dir=place / "results" / "demo" / "3")
    for name in ("fixtures", "policies"):
        (place / name).symlink_to(ROOT / name)
    names = ("verification-result.json", "decision.json", "facts.json")
    excerpts = [json.loads(block) for block in blocks("json", AUDITING)]
    assert len(excerpts) == len(names)
    for name, shown in zip(names, excerpts, strict=True):
        assert holds(shown, json.loads((place / "results" / "demo" / "3" / name).read_text())), name
    line = excerpts[2]["origins"][0]["line"]
    assert "SECURITY.md" in (case / "candidate" / "changes.patch").read_text().splitlines()[line - 1]
    python = [sys.executable, "-c", blocks("python", AUDITING)[0]]
    subprocess.run(python, cwd=place, check=True, env={"PYTHONPATH": str(ROOT)})
    shown = [block.partition("\n") for block in blocks("console", AUDITING)]
    assert len(shown) == 5
    for command, _, output in shown:
        run = run_bash(f"{command.removeprefix('$ ')} || true", place)
        assert run.stderr == ""
        assert not output or settled(run.stdout) == settled(output), command


def settled(text: str) -> str:
    """A printed audit without what changes with every edit of the shipped bundle."""
    return re.sub(r"bundle\.yaml:\d+:\d+", "bundle.yaml:", re.sub("sha256:(…|[0-9a-f]{64})", "sha256:", text)).strip()


def test_the_digests_of_a_result_are_checked_as_the_auditing_page_says(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(tmp_path / "case").evaluate(output_dir=out)
    result, decision, facts = (
        json.loads((out / name).read_text()) for name in ("verification-result.json", "decision.json", "facts.json")
    )
    own = result["extensions"]["org.idkmesh.rules"]

    def digest(name: str, *options: str) -> str:
        return idkrules("digest", *options, out / name).stdout.split()[0]

    assert own["facts_digest"] == decision["facts_digest"] == digest("facts.json") != digest("facts.json", "--raw")
    assert own["decision_digest"] == digest("decision.json") != digest("decision.json", "--raw")
    assert facts["documents"] == {name: digest(f"inputs/{name}.json") for name in facts["documents"]}
    assert own["bundle"]["digest"] == decision["bundle"]["digest"] == digest("inputs/bundle.yaml", "--raw")
