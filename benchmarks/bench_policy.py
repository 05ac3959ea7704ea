"""How long the policy layer takes: load, compile, decide a small real case and 10,000 paths. Prints, asserts nothing.

Run: python benchmarks/bench_policy.py
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from idkmesh_rules.checks import backend_kinds
from idkmesh_rules.model.bundle import Bundle
from idkmesh_rules.model.facts import FactStore, FieldType, KindFacts, Row
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.policy import bind_parameters, decide, decision_document, floor_for, judge_for, load_bundle
from idkmesh_rules.policy.prove import prove_floor

KINDS = backend_kinds("unified_diff")
SOURCE = (Path(__file__).parent.parent / "policies" / "unified-diff" / "bundle.yaml").read_bytes()
REQUIRED = ("result-manifest-schema", "independent-review")
DIGEST = "sha256:" + "a" * 64


def row(kind: str, **known: object) -> Row:
    """A row of a kind by field name: false, one, or absent where nothing is given."""
    plain = {FieldType.BOOL: False, FieldType.INT: 1}
    return tuple(
        [known.get(each.name, None if each.optional else plain.get(each.type, "x")) for each in KINDS[kind].fields]
    )  # type: ignore[return-value, misc]  # as plain says


def small_rows() -> dict[str, list[Row]]:
    """About 40 facts, as a patch of four files with two logs has them."""
    paths = [f"src/module_{number}.py" for number in range(4)]
    files = [("candidate", "patch"), ("log", "logs/0"), ("log", "logs/1")]
    bindings = KINDS["manifest.binding"].fields[0].values
    return {
        "manifest.schema": [row("manifest.schema", valid=True)],
        "manifest.binding": [row("manifest.binding", field=name, matches=True) for name in sorted(bindings)],
        "manifest.attempt": [row("manifest.attempt", within=True)],
        "evidence.request": [row("evidence.request", artifact="patch", declared=True)],
        "validator.coverage": [
            row("validator.coverage", validator=name, required=True, requested_by_worker=True)
            for name in sorted(REQUIRED)
        ],
        "evidence.requirement": [row("evidence.requirement", type=name) for name in ("artifact_hash", "test_output")],
        "candidate.file": [
            row("candidate.file", role=role, name=name, state="regular", within_limit=True, digest_matches=True)
            for role, name in files
        ],
        "log.coverage": [row("log.coverage", type=name, required=True) for name in ("stderr", "stdout")],
        "patch.structure": [row("patch.structure", well_formed=True, files=4, prose_lines=0, second_opinion="agrees")],
        "patch.file": [
            row("patch.file", index=number, operation="modify", old_path=path, new_path=path)
            for number, path in enumerate(paths)
        ],
        "patch.path": [authorized(path, side) for path in paths for side in ("new", "old")],
        "requirement.line": [
            row("requirement.line", side="added", match="substring", text=f"text {number}", present=True)
            for number in range(6)
        ],
        "worker.status": [row("worker.status", status="succeeded")],
    }


def authorized(path: str, side: str) -> Row:
    """A path that may be changed."""
    return row("patch.path", path=path, side=side, allowed=True, writable=True, authorized=True)


def frozen(rows: dict[str, list[Row]]) -> FactStore:
    """A fresh store, so that no column or flag of an earlier run is warm."""
    return FactStore({name: KindFacts(KINDS[name], tuple(rows.get(name, ())), complete=True) for name in sorted(KINDS)})


def timed(run: Callable[[], object], repeat: int) -> float:
    """The median of `repeat` runs in microseconds."""
    taken = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        taken.append((time.perf_counter() - start) * 1e6)
    return median(taken)


def each(stores: list[FactStore], run: Callable[[FactStore], object]) -> float:
    """The median over stores that nobody looked at before, in microseconds."""
    waiting = iter(stores)
    return timed(lambda: run(next(waiting)), len(stores))


def decider(bundle: Bundle) -> Callable[[FactStore], Recommendation]:
    """A decision with the default parameters under the backend's floor."""
    parameters, floor = bind_parameters(bundle, {"max_changed_files": 20_000}), floor_for("unified_diff", KINDS)
    judge = judge_for(bundle, parameters, REQUIRED, floor)
    return lambda store: judge(store).recommendation


def main() -> None:
    """Print one figure a line."""
    bundle = load_bundle(SOURCE, "bundle.yaml", lambda _: KINDS)
    run = decider(bundle)
    small = small_rows()
    fresh = [frozen(small) for _ in range(2_000)]
    facts = sum(map(len, small.values()))
    assert run(fresh[0]) is Recommendation.ACCEPT
    pending = iter(fresh)
    print(
        f"load                       {timed(lambda: load_bundle(SOURCE, 'bundle.yaml', lambda _: KINDS), 100) / 1000:8.2f} ms"
    )
    floor = floor_for("unified_diff", KINDS)
    bound = bind_parameters(bundle, {})
    print(f"prove the floor            {timed(lambda: prove_floor(bundle, floor, bound), 50) / 1000:8.2f} ms")
    print(f"bind parameters            {timed(lambda: bind_parameters(bundle, {'max_prose_lines': 3}), 1000):8.1f} us")
    taken = timed(lambda: run(next(pending)), 1_900)
    print(f"decide {facts} facts            {taken:8.1f} us   ({len(bundle.conditions)} conditions)")
    wrong = {
        **small,
        "patch.path": [row("patch.path", path=f"a{number}", side="new", reason="not allowed") for number in range(8)],
    }
    rejected = frozen(wrong)
    print(f"decide, rejected           {timed(lambda: run(rejected), 1_000):8.1f} us")
    decision = decide(bundle, fresh[0], parameters=bound, required=REQUIRED, floor=floor)
    print(
        f"decision document          {timed(lambda: decision_document(decision, bundle, bound, DIGEST), 500):8.1f} us"
    )
    for count in (100, 1_000, 10_000):
        paths = [authorized(f"src/m{number:05}.py", "new") for number in range(count)]
        many = [frozen({**small, "patch.path": paths}) for _ in range(12)]
        taken = each(many, run) / 1000
        print(f"decide {count:6} paths        {taken:8.3f} ms")
    refused = [
        row("patch.path", path=f"src/m{number:05}.py", side="new", reason="not allowed") for number in range(10_000)
    ]
    bad = frozen({**small, "patch.path": refused})
    print(f"decide 10000 paths, refused{timed(lambda: run(bad), 11) / 1000:8.3f} ms")


if __name__ == "__main__":
    main()
