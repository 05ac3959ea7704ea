"""What the documentation shows is what happens: commands are run, outputs compared, generated pages regenerated."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.bundles import make
from tests.support.command import idkrules
from tests.support.places import ROOT

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_demo_prints_what_the_readme_shows() -> None:
    run = subprocess.run([sys.executable, "fixtures/demo.py"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0
    assert run.stdout.strip() == blocks("text")[0].strip()


@pytest.mark.parametrize(("name", "said"), [("honest", "accepted"), ("forged", "rejected")])
def test_the_ci_lines_run(tmp_path: Path, name: str, said: str) -> None:
    bundle = make(tmp_path / "case")
    (tmp_path / "bundle").symlink_to("case/candidate")
    for source, target in (("work-unit.json", "work-unit.json"), ("evaluator-plan.json", "plan.json")):
        (tmp_path / target).write_bytes((bundle.place / source).read_bytes())
    (bundle.candidate / "result-manifest.json").write_bytes(bundle.manifest.read_bytes())
    if name == "forged":
        (bundle.candidate / "changes.patch").write_text("")
    script = f'idkrules() {{ {sys.executable} -m idkmesh_rules "$@"; }}\n{blocks("bash")[0]}'
    run = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert run.stdout.splitlines()[-1] == said, run.stderr


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
    from idkmesh_rules.checks import unified_diff_kinds
    from idkmesh_rules.policy import load_bundle

    bundle = load_bundle((header + blocks("yaml")[0]).encode(), "README.md", unified_diff_kinds())
    assert list(bundle.validators) == ["independent-review"]


def test_every_file_that_the_docs_link_to_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


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
