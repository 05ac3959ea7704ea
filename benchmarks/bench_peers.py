"""How long a decision takes beside other policy engines, measured in turns in one run. Prints, asserts nothing of it.

Run: make bench-peers (installs benchmarks/requirements.txt), or python benchmarks/bench_peers.py

What is compared, in the peers' favour where there was a choice:

- cedarpy: a parsed PolicySet and parsed entities, reused; a permit over seven flat attributes of the context. Beside it,
  the whole shipped bundle over some 40 facts, with its proof tree, the floor included.
- regopy: a compiled bundle, reused; "every path is authorized, and there is one" over 10,000 paths. Beside it, the whole
  shipped bundle over as many. Once with facts and input in place, once with the building of both.
"""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, repeat
from pathlib import Path
from statistics import median

if __name__ == "__main__":  # run as a script, the benchmarks' folder is on the path and the repository isn't
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_policy import DIGEST, KINDS, REQUIRED, SOURCE, authorized, decider, frozen, row, small_rows
from idkmesh_rules.checks import Check, backend_kinds, collect
from idkmesh_rules.checks.check import Emission
from idkmesh_rules.model.facts import FactStore, Origin
from idkmesh_rules.model.proof import Recommendation
from idkmesh_rules.policy import load_bundle
from idkmesh_rules.policy.floor import floor_for
from idkmesh_rules.policy.parameters import bind_parameters
from idkmesh_rules.policy.prove import prove_floor

PATHS = 10_000
CEDAR = """
permit(principal, action == Action::"accept", resource) when {
  context.manifest_bound && context.patch_intact && context.well_formed && context.files >= 1 &&
  context.paths_authorized && context.lines_present && context.status == "succeeded"
};
"""
CONTEXT = {
    "manifest_bound": True,
    "patch_intact": True,
    "well_formed": True,
    "files": 4,
    "paths_authorized": True,
    "lines_present": True,
    "status": "succeeded",
}
REGO = """
package rules
default accept := false
unauthorized contains path if {
    some path in input.paths
    not path.authorized
}
accept if {
    count(input.paths) > 0
    count(unauthorized) == 0
}
"""
Timed = Callable[[], object]
Prepared = Callable[[], Timed]


def in_turns(first: Prepared, second: Prepared, rounds: int) -> tuple[float, float]:
    """The medians of both in microseconds, taken alternately, call by call; what prepares a call isn't timed."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for prepare, times in zip((first, second), taken, strict=True):
            run = prepare()
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e6)
    return median(taken[0]), median(taken[1])


def of_another_shape(number: int) -> dict[str, list[tuple[object, ...]]]:
    """A small case like the others, but with so many files, paths and lines as none before it has."""
    files, lines, requests = 1 + number % 12, 1 + number // 12 % 12, 1 + number // 144
    paths = [f"src/module_{number}.py" for number in range(files)]
    return {
        **small_rows(),
        "patch.file": [
            row("patch.file", index=index, operation="modify", path=path, old_path=path, new_path=path)
            for index, path in enumerate(paths)
        ],
        "patch.path": [authorized(path, "new") for path in paths],
        "requirement.line": [
            row("requirement.line", side="added", match="whole", text=f"text {index}", present=True)
            for index in range(lines)
        ],
        "evidence.request": [
            row("evidence.request", artifact=f"a{index:03}", declared=True) for index in range(requests)
        ],
    }


def told(what: str, ours: float, peer: str, theirs: float, wanted: float) -> None:
    """One comparison on a line: both medians, the ratio, and what it has to be."""
    unit, scale = ("ms", 1000) if theirs > 5000 else ("us", 1)
    print(
        f"{what:48} {ours / scale:9.2f} {unit}   {peer} {theirs / scale:9.2f} {unit}   "
        f"{theirs / ours:6.1f}x (wanted {wanted:.0f}x)"
    )


def beside_cedar() -> None:
    import cedarpy

    policies, entities = cedarpy.PolicySet.from_str(CEDAR), cedarpy.Entities.from_json_str("[]")
    request = {
        "principal": 'Worker::"w"',
        "action": 'Action::"accept"',
        "resource": 'Candidate::"c"',
        "context": CONTEXT,
    }
    run = decider(load_bundle(SOURCE, "bundle.yaml", backend_kinds))

    def theirs() -> bool:
        allowed: bool = cedarpy.is_authorized(request, policies, entities).allowed
        return allowed

    rounds = 3_000
    streams: dict[str, Iterator[dict[str, list[tuple[object, ...]]]]] = {
        "shipped bundle, 36 facts, proof and floor": repeat(small_rows()),
        "the same, no two cases alike (up to 70 facts)": map(of_another_shape, count()),
    }
    for what, cases in streams.items():

        def ours(cases: Iterator[dict[str, list[tuple[object, ...]]]] = cases) -> Timed:
            return partial(run, frozen(next(cases)))

        for _ in range(3):
            assert ours()() is Recommendation.ACCEPT
            assert theirs()
        taken = in_turns(ours, lambda: theirs, rounds)
        told(what, taken[0], "cedarpy, seven attributes", taken[1], 5)


def beside_rego() -> None:
    from regopy import Interpreter

    run = decider(load_bundle(SOURCE, "bundle.yaml", backend_kinds))
    rows = [authorized(f"src/m{number:05}.py", "new") for number in range(PATHS)]
    small = small_rows()
    paths = {"paths": [{"path": row[0], "side": "new", "authorized": True} for row in rows]}
    rego = Interpreter()
    rego.add_module("rules", REGO)
    compiled = rego.build("data.rules.accept")
    rego.set_input(paths)
    rounds = 15

    def ours() -> Timed:
        return partial(run, frozen({**small, "patch.path": rows}))

    def theirs() -> object:
        return rego.query_bundle(compiled)

    assert ours()() is Recommendation.ACCEPT
    assert str(theirs()) == '{"expressions":[true]}', str(theirs())
    taken = in_turns(ours, lambda: theirs, rounds)
    told(f"shipped bundle, {PATHS} paths", taken[0], "regopy, the rule of paths", taken[1], 20)

    def built() -> Recommendation:
        return run(store_of(small, rows))

    def set_and_asked() -> object:
        rego.set_input(paths)
        return rego.query_bundle(compiled)

    assert built() is Recommendation.ACCEPT
    taken = in_turns(lambda: built, lambda: set_and_asked, rounds)
    told("the same with the building of the store", taken[0], "regopy, input set", taken[1], 10)


def store_of(small: dict[str, list[tuple[object, ...]]], paths: list[tuple[object, ...]]) -> FactStore:
    """A store built as an evaluation builds it: emitted by a check, merged by key, held against what was asked."""
    kind, origin = KINDS["patch.path"], Origin("patch-scope", "changes.patch", 1)
    check = Check(
        "patch-scope",
        "paths",
        "static_analysis",
        (kind,),
        lambda _case: iter([Emission(kind, row, origin) for row in paths]),
        lambda _case: {"patch.path": frozenset([row[:2] for row in paths])},
    )
    store, crashes = collect((check,), None)
    assert not crashes
    return FactStore({**frozen(small).kinds, "patch.path": store["patch.path"]})


def loading() -> None:
    def load_lint_compile() -> None:
        bundle = load_bundle(SOURCE, "bundle.yaml", backend_kinds)
        parameters, floor = bind_parameters(bundle, {}), floor_for("unified_diff", KINDS)
        assert not prove_floor(bundle, floor, parameters)
        assert decider(bundle)(accepted) is Recommendation.ACCEPT

    accepted = frozen(small_rows())
    taken, _ = in_turns(lambda: load_lint_compile, lambda: lambda: None, 60)
    print(f"{'load, lint, prove, compile and decide once':48} {taken / 1000:9.2f} ms   (wanted 15 ms)")


def main() -> None:
    """Print one comparison a line."""
    assert DIGEST
    assert REQUIRED
    loading()
    beside_cedar()
    beside_rego()


if __name__ == "__main__":
    main()
