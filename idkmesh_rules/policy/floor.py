"""The floor: what acceptance must imply whatever a bundle says (design: facts-and-policy, *The floor*).

Invariants: a floor is code, in the forms that bundles have, so that no file and no plan can lower it; its leaves are as
lenient as their purpose allows (a bundle may be stricter, never looser); a backend without a floor can't decide at all.
"""

from collections.abc import Callable, Mapping

from idkmesh_rules.errors import PolicyError, Problem
from idkmesh_rules.model.bundle import Demand, Floor, Form, Leaf, OnEmpty, Operator
from idkmesh_rules.model.facts import FactKind, Field, Value
from idkmesh_rules.policy.problems import shown

_Demands = Mapping[str, Value | tuple[Operator, Value]]

_INTACT: _Demands = {"state": "regular", "within_limit": True, "digest_matches": True}
_REQUIRED: _Demands = {"required": True}


def floor_for(backend: str, kinds: Mapping[str, FactKind]) -> Floor:
    """The floor of a backend over its fact kinds; raises `PolicyError` when the backend has none."""
    leaves = _FLOORS.get(backend)
    if leaves is None:
        hint = "a bundle for it can't be evaluated by this version"
        raise PolicyError((Problem(f"the backend {shown(backend)} has no floor", hint=hint),))
    return Floor(backend, leaves(kinds))


class _Leaves:
    """Makes leaves over the kinds of one backend."""

    def __init__(self, kinds: Mapping[str, FactKind]) -> None:
        self._kinds = kinds

    def every(self, name: str, kind: str, where: _Demands, must: _Demands, on_empty: OnEmpty) -> Leaf:
        declared = self._kinds[kind]
        return Leaf(
            name,
            Form.EVERY,
            declared,
            _demands(declared, where),
            _demands(declared, must),
            on_empty,
            finding=declared.finding,
        )

    def one(self, name: str, kind: str, must: _Demands) -> Leaf:
        declared = self._kinds[kind]
        return Leaf(name, Form.ONE, declared, (), _demands(declared, must), finding=declared.finding)

    def claim(self) -> tuple[Leaf, ...]:
        """What every backend asks of the worker's claim."""
        return (
            self.every("manifest-bound", "manifest.binding", {}, {"matches": True}, OnEmpty.FAIL),
            self.every(
                "validators-requested", "validator.coverage", _REQUIRED, {"requested_by_worker": True}, OnEmpty.FAIL
            ),
            self.one("worker-succeeded", "worker.status", {"status": "succeeded"}),
        )


def _unified_diff(kinds: Mapping[str, FactKind]) -> tuple[Leaf, ...]:
    leaves = _Leaves(kinds)
    every, one = leaves.every, leaves.one
    return (
        *leaves.claim(),
        every("patch-intact", "candidate.file", {"role": "candidate"}, _INTACT, OnEmpty.FAIL),
        # That nothing is logged, or that no type of log is required, is not the floor's business.
        every("logs-intact", "candidate.file", {"role": "log"}, _INTACT, OnEmpty.PASS),
        every("required-logs-present", "log.coverage", _REQUIRED, {"count": (Operator.AT_LEAST, 1)}, OnEmpty.PASS),
        one("patch-well-formed", "patch.structure", {"well_formed": True}),
        one("patch-not-empty", "patch.structure", {"files": (Operator.AT_LEAST, 1)}),
        every("paths-authorized", "patch.path", {}, {"authorized": True}, OnEmpty.FAIL),
        every("required-lines-present", "requirement.line", {}, {"present": True}, OnEmpty.FAIL),
    )


def _exact_json(kinds: Mapping[str, FactKind]) -> tuple[Leaf, ...]:
    leaves = _Leaves(kinds)
    return (
        *leaves.claim(),
        leaves.every("answer-intact", "candidate.file", {"role": "candidate"}, _INTACT, OnEmpty.FAIL),
        leaves.every(
            "files-as-allowed",
            "candidate.entry",
            {},
            {"expected": True, "present": True, "type": "file"},
            OnEmpty.FAIL,
        ),
        leaves.one("json-well-formed", "candidate.json", {"well_formed": True}),
        leaves.one("json-equal", "json.comparison", {"equal": True}),
    )


def _workspace(kinds: Mapping[str, FactKind]) -> tuple[Leaf, ...]:
    leaves = _Leaves(kinds)
    return (
        *leaves.claim(),
        # A workspace may be as it was before, and an attempt may declare no artifact: neither touches what it may not.
        leaves.every("paths-authorized", "workspace.change", {}, {"authorized": True}, OnEmpty.PASS),
        leaves.every("only-plain-files", "workspace.entry", {}, {"type": "file"}, OnEmpty.PASS),
        leaves.every("artifacts-intact", "candidate.file", {"role": "artifact"}, _INTACT, OnEmpty.PASS),
    )


def _sandboxed_equality(kinds: Mapping[str, FactKind]) -> tuple[Leaf, ...]:
    leaves = _Leaves(kinds)
    return (
        *leaves.claim(),
        leaves.every("candidate-intact", "candidate.file", {"role": "candidate"}, _INTACT, OnEmpty.FAIL),
        leaves.one("assessment-valid", "grading.assessment", {"valid": True}),
        leaves.every("values-equal", "grading.check", {}, {"equal": True, "grader_status": "passed"}, OnEmpty.FAIL),
        leaves.every(
            "receipts-authentic", "grading.receipt", {}, {"authentic": True, "matches_job": True}, OnEmpty.FAIL
        ),
        # That a plan requires no control is its own business; whatever it requires was enforced.
        leaves.every("controls-enforced", "grading.isolation", _REQUIRED, {"enforced": True}, OnEmpty.PASS),
    )


_FLOORS: Mapping[str, Callable[[Mapping[str, FactKind]], tuple[Leaf, ...]]] = {
    "unified_diff": _unified_diff,
    "exact_json": _exact_json,
    "workspace": _workspace,
    "sandboxed_equality": _sandboxed_equality,
}


def _demands(kind: FactKind, asked: _Demands) -> tuple[Demand, ...]:
    return tuple([_demand(kind.fields[kind.index[name]], value) for name, value in asked.items()])


def _demand(declared: Field, value: Value | tuple[Operator, Value]) -> Demand:
    operator, operand = value if isinstance(value, tuple) else (Operator.IN, value)
    return Demand(declared, operator, (operand,))
