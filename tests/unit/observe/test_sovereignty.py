"""Where control files and output may lie: by name, by link, by identity, by second name."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from idkmesh_rules import Limits, Refusal, evaluate
from idkmesh_rules.resources import shipped_bundle
from tests.support.bundles import Bundle, make


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return make(tmp_path / "case")


def reason(case: Bundle, **options: object) -> str:
    with pytest.raises(Refusal) as caught:
        case.evaluate(**options)
    return caught.value.reason


def through_a_link_into(bundle: Bundle) -> None:
    """The plan is named by a link outside that leads inside."""
    (bundle.candidate / "plan.json").write_bytes(bundle.plan.read_bytes())
    bundle.plan.unlink()
    bundle.plan.symlink_to("candidate/plan.json")


def by_a_second_name(bundle: Bundle) -> None:
    """The plan has a hard link somewhere below the candidate."""
    (bundle.candidate / "deep" / "er").mkdir(parents=True)
    os.link(bundle.plan, bundle.candidate / "deep" / "er" / "x")


def work_unit_by_a_second_name(bundle: Bundle) -> None:
    """The WorkUnit has a hard link inside."""
    os.link(bundle.work_unit, bundle.candidate / "x")


INSIDE: list[Callable[[Bundle], None]] = [through_a_link_into, by_a_second_name, work_unit_by_a_second_name]


@pytest.mark.parametrize("arrange", INSIDE)
def test_control_files_within_reach_are_refused(bundle: Bundle, arrange: Callable[[Bundle], None]) -> None:
    arrange(bundle)
    assert reason(bundle) == "control-inside-candidate"


def test_the_root_named_through_a_link_is_the_same_root(bundle: Bundle) -> None:
    (bundle.place / "alias").symlink_to("candidate")
    (bundle.candidate / "plan.json").write_bytes(bundle.plan.read_bytes())
    with pytest.raises(Refusal) as caught:
        evaluate(
            bundle.work_unit, bundle.manifest, bundle.candidate / "plan.json", bundle.place / "alias", durable=False
        )
    assert caught.value.reason == "control-inside-candidate"


def test_a_second_name_outside_is_no_offence(bundle: Bundle) -> None:
    os.link(bundle.plan, bundle.place / "copy-of-plan.json")
    assert bundle.evaluate().exit_code == 0


def test_a_search_over_its_bound_is_a_refusal(bundle: Bundle) -> None:
    os.link(bundle.plan, bundle.place / "copy-of-plan.json")
    for number in range(20):
        (bundle.candidate / f"file-{number}").touch()
    assert reason(bundle, limits=Limits(link_search_entries=10)) == "control-inside-candidate"
    assert bundle.evaluate(limits=Limits(link_search_entries=100)).exit_code == 0


def test_a_rule_bundle_inside_the_candidate_is_refused(bundle: Bundle) -> None:
    source = shipped_bundle("unified-diff")
    assert source
    (bundle.candidate / "rules").mkdir()
    (bundle.candidate / "rules" / "bundle.yaml").write_bytes((source / "bundle.yaml").read_bytes())
    assert reason(bundle, bundle=bundle.candidate / "rules") == "control-inside-candidate"


@pytest.mark.parametrize("output", ["candidate/out", "candidate/a/b/out", "candidate/../candidate/out", "alias/out"])
def test_output_inside_the_candidate_is_refused_and_nothing_is_made(bundle: Bundle, output: str) -> None:
    (bundle.place / "alias").symlink_to("candidate")
    before = sorted(bundle.place.rglob("*"))
    assert reason(bundle, output_dir=bundle.place / output) == "output-inside-candidate"
    assert sorted(bundle.place.rglob("*")) == before


@pytest.mark.parametrize("root", ["nowhere", "work-unit.json"])
def test_an_unusable_candidate_root(bundle: Bundle, root: str) -> None:
    with pytest.raises(Refusal) as caught:
        evaluate(bundle.work_unit, bundle.manifest, bundle.plan, bundle.place / root, durable=False)
    assert (caught.value.reason, caught.value.fault) == ("candidate-root-unusable", "verifier")


MANIFESTS: dict[str, Callable[[Path], object]] = {
    "a link to a secret": lambda path: path.symlink_to("../work-unit.json"),
    "a FIFO": os.mkfifo,
    "a directory": Path.mkdir,
    "nothing": lambda path: None,
    "too large": lambda path: path.write_bytes(b"{" + b" " * 2**22 + b"}"),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_manifest_inside_the_candidate_is_read_as_the_candidates_files_are(bundle: Bundle, what: str) -> None:
    inside = bundle.candidate / "manifest.json"
    MANIFESTS[what](inside)
    with pytest.raises(Refusal) as caught:
        evaluate(bundle.work_unit, inside, bundle.plan, bundle.candidate, durable=False)
    assert (caught.value.reason, caught.value.fault) == ("manifest-invalid", "worker")


def test_an_honest_manifest_may_lie_inside(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    (bundle.candidate / "manifest.json").write_bytes(bundle.manifest.read_bytes())
    monkeypatch.chdir(bundle.candidate)
    assert evaluate(bundle.work_unit, Path("manifest.json"), bundle.plan, Path(), durable=False).exit_code == 0


def test_a_candidate_that_cannot_be_searched_is_a_refusal(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """A control file has a second name, and the search for it fails on the way: within reach, as far as anybody knows."""
    os.link(bundle.plan, bundle.place / "copy-of-plan.json")

    def fail(path: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(Refusal) as caught:
        bundle.evaluate()
    assert caught.value.reason == "control-inside-candidate"
    assert "the candidate can't be searched: Permission denied" in str(caught.value.problems[0])


def test_a_root_that_cannot_be_opened_is_refused(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    real_open = os.open

    def fail(path: object, flags: int, *rest: object, **more: object) -> int:
        if path == bundle.candidate:
            raise PermissionError(13, "Permission denied")
        return real_open(path, flags, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", fail)
    assert reason(bundle) == "candidate-root-unusable"


def test_a_control_file_below_a_bind_mount_of_the_root_is_found_by_identity(bundle: Bundle) -> None:
    """Another name for the root itself, which no path shows: decided by device and inode of an ancestor."""
    place = bundle.place / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "--bind", bundle.candidate, place], capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        (bundle.candidate / "plan.json").write_bytes(bundle.plan.read_bytes())
        with pytest.raises(Refusal) as caught:
            evaluate(bundle.work_unit, bundle.manifest, place / "plan.json", bundle.candidate, durable=False)
        assert caught.value.reason == "control-inside-candidate"
        assert reason(bundle, output_dir=place / "out") == "output-inside-candidate"
    finally:
        subprocess.run(["umount", place], check=True)
