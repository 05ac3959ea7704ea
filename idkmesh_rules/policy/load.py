"""bundle.yaml → checked `Bundle`: read, resolved, type-checked (design: facts-and-policy, *Rule bundle language v1*).

Invariants: either a bundle comes out in which everything has a meaning, or one error with every mistake and no
follow-on; the digest is that of the raw bytes, so that a comment is part of what a plan pins.
"""

import re
from collections.abc import Callable
from collections.abc import Mapping as Table
from hashlib import sha256
from typing import Any

from idkmesh_rules.model.bundle import BACKENDS, Bundle, Condition, Mark, Parameter, ParameterType, Validator
from idkmesh_rules.model.facts import FactKind
from idkmesh_rules.policy import schema
from idkmesh_rules.policy.conditions import BackendKinds, ConditionReader, condition_names
from idkmesh_rules.policy.names import Named, check_names
from idkmesh_rules.policy.operands import OperandReader, parameter_value
from idkmesh_rules.policy.parsed import from_json
from idkmesh_rules.policy.problems import Problems, closest, shown
from idkmesh_rules.policy.yaml_reader import Mapping, Node, Scalar, Sequence, children, read_yaml

SCHEMA_VERSION = "1.0"

BUNDLE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""What a bundle may be called; match it whole."""

_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}(-[0-9A-Za-z.-]{1,64})?")
_CONDITION = re.compile(r"[a-z][a-z0-9-]{0,63}")
_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,63}")
_OWN_CHECKS = ("floor", "escalate")
_VALIDATOR = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")


KindsOf = Callable[[str], Table[str, FactKind]]
"""From the name of a backend to its fact kinds by name."""


def load_bundle(data: bytes, name: str, kinds: KindsOf, *, tree: list[Any] | None = None) -> Bundle:
    """Read a rule bundle, which may speak of the kinds of its own backend; `name` is how messages call the file.

    `tree` is what `parsed.to_json` made of the same bytes when they passed all checks before: then the YAML isn't read
    again, and conditions that can't matter are not looked for again.
    Raises `PolicyError` with every mistake: place, expectation, suggestion.
    """
    root, problems = read_yaml(data, name) if tree is None else (from_json(tree), Problems(name, ()))
    top = schema.mapping(root, problems, "a rule bundle, beginning with schema_version")
    if top is None:
        problems.fail()
    bundle = _Loader(top, problems, kinds).bundle(sha256(data).hexdigest())
    if tree is None:
        # The analysis is a third of this package, and the command line must start fast where it was done before.
        from idkmesh_rules.policy.vacuity import check_meaning

        check_meaning(bundle, problems)
        problems.finish()
    return bundle


class _Loader:
    """One pass over the top level of a bundle."""

    def __init__(self, top: Mapping, problems: Problems, kinds: KindsOf) -> None:
        self._problems = problems
        self._top = schema.Entries(
            top,
            problems,
            "a rule bundle",
            required=("schema_version", "bundle", "conditions", "validators"),
            optional=("parameters", "escalate"),
        )
        self._kinds = kinds

    def bundle(self, digest: str) -> Bundle:
        """The bundle; raises `PolicyError` when any of it is wrong."""
        self._version()
        header = self._header()
        kinds = BackendKinds(header[3], self._kinds)
        parameters = self._parameters()
        operands = OperandReader(self._problems, parameters)
        reader = ConditionReader(self._problems, kinds, operands)
        conditions, marks = self._conditions(reader)
        validators, mentions = self._validators()
        escalate = self._escalate()
        self._unused_parameters(parameters)
        roots = tuple(name for names in (*mentions.values(), escalate) for name in names or ())
        all_read = (
            bool(conditions)
            and bool(validators)
            and escalate is not None
            and None not in mentions.values()
            and all(name in reader.references or not self._combines(name) for name in conditions)
        )
        check_names(Named(conditions, marks, reader.references, roots, tuple(validators), all_read), self._problems)
        self._problems.finish()
        return Bundle(
            *header,
            f"sha256:{digest}",
            {key: value for key, value in parameters.items() if value is not None},
            {key: value for key, value in conditions.items() if value is not None},
            validators,
            tuple(name.text for name in escalate or ()),
            self._problems.name,
            self._top.marks["bundle"],
        )

    def _version(self) -> None:
        node = self._top.get("schema_version")
        version = schema.text(node, self._problems, f'schema_version "{SCHEMA_VERSION}"') if node is not None else None
        if node is not None and version is not None and version != SCHEMA_VERSION:
            self._problems.add(
                node.mark,
                f"this engine reads rule bundles of schema_version {SCHEMA_VERSION}, not {shown(version)}",
                f'write schema_version: "{SCHEMA_VERSION}", or use an engine that knows {version[:20]}',
            )

    def _header(self) -> tuple[str, str, str, str]:
        node = self._top.get("bundle")
        what = "id, version, owner and backend of the bundle"
        body = schema.mapping(node, self._problems, what) if node is not None else None
        if body is None:
            return "", "", "", ""
        entries = schema.Entries(
            body, self._problems, "bundle", required=("id", "version", "owner", "backend"), at=self._top.marks["bundle"]
        )
        bundle_id = self._matching(entries.get("id"), BUNDLE_ID, "a bundle id of a–z, 0–9 and -")
        version = self._matching(entries.get("version"), _VERSION, "a version such as 1.0.0")
        owner_node, backend_node = entries.get("owner"), entries.get("backend")
        owner = (
            schema.text(owner_node, self._problems, "who answers for the bundle") if owner_node is not None else None
        )
        backend = schema.word(backend_node, self._problems, "a backend", BACKENDS) if backend_node is not None else None
        return bundle_id or "", version or "", owner or "", backend or ""

    def _matching(self, node: Node | None, pattern: re.Pattern[str], what: str) -> str | None:
        value = schema.text(node, self._problems, what) if node is not None else None
        if node is not None and value is not None and pattern.fullmatch(value) is None:
            self._problems.add(node.mark, f"expected {what}, found {shown(value)}")
            return None
        return value

    def _section(self, key: str, what: str) -> tuple[tuple[Scalar, Node], ...]:
        node = self._top.get(key)
        body = schema.mapping(node, self._problems, what) if node is not None else None
        return body.entries if body is not None else ()

    def _named(self, key: Scalar, pattern: re.Pattern[str], what: str) -> None:
        if pattern.fullmatch(key.text) is None:
            self._problems.add(key.mark, f"expected {what}, found {shown(key.text)}")

    def _parameters(self) -> dict[str, Parameter | None]:
        found: dict[str, Parameter | None] = {}
        for key, node in self._section("parameters", "the parameters that a plan may set"):
            self._named(key, _PARAMETER, "a parameter name of a–z, 0–9 and _")
            found[key.text] = self._parameter(key, node)
        return found

    def _parameter(self, key: Scalar, node: Node) -> Parameter | None:
        body = schema.mapping(node, self._problems, "type and default of a parameter")
        if body is None:
            return None
        entries = schema.Entries(body, self._problems, "a parameter", required=("type", "default"), at=key.mark)
        type_node, default_node = entries.get("type"), entries.get("default")
        if type_node is None or default_node is None:
            return None
        declared = schema.word(type_node, self._problems, "a parameter type", [kind.value for kind in ParameterType])
        if declared is None:
            return None
        default = parameter_value(default_node, ParameterType(declared), self._problems, f"the default of {key.text}")
        return Parameter(key.text, ParameterType(declared), default, key.mark) if default is not None else None

    def _unused_parameters(self, parameters: Table[str, Parameter | None]) -> None:
        # The raw text is searched, so that a parameter in a condition that is wrong for another reason counts as used.
        root = self._top.get("conditions")
        if not isinstance(root, Mapping):
            return
        mentioned = _parameter_mentions(root)
        used = {name if name in parameters else closest(name, parameters) for name in mentioned}
        for key, _node in self._section_entries("parameters"):
            if key.text not in used:
                self._problems.add(
                    key.mark,
                    f"the parameter {key.text} is used by no condition",
                    "use it as {parameter: …}, or remove it",
                )

    def _section_entries(self, key: str) -> tuple[tuple[Scalar, Node], ...]:
        node = self._top.get(key)
        return node.entries if isinstance(node, Mapping) else ()

    def _conditions(self, reader: ConditionReader) -> tuple[dict[str, Condition | None], dict[str, Mark]]:
        conditions: dict[str, Condition | None] = {}
        marks: dict[str, Mark] = {}
        for key, node in self._section("conditions", "named conditions"):
            self._named(key, _CONDITION, "a condition name of a–z, 0–9 and -")
            conditions[key.text] = reader.condition(key, node)
            marks[key.text] = key.mark
        return conditions, marks

    def _combines(self, name: str) -> bool:
        """Whether the text of a condition looks like a combination."""
        body = next(node for key, node in self._section_entries("conditions") if key.text == name)
        return not isinstance(body, Mapping) or any(key.text in ("all", "any") for key, _node in body.entries)

    def _validators(self) -> tuple[dict[str, Validator], dict[str, tuple[Scalar, ...] | None]]:
        validators: dict[str, Validator] = {}
        mentions: dict[str, tuple[Scalar, ...] | None] = {}
        for key, node in self._section("validators", "validators and the conditions that they demand"):
            self._named(key, _VALIDATOR, "a validator id as a WorkUnit spells it")
            if key.text in _OWN_CHECKS:
                hint = "results use this name for a check of the engine's own; choose another"
                self._problems.add(key.mark, f"a validator can't be called {shown(key.text)}", hint)
            names = self._validator(key, node)
            mentions[key.text] = names
            validators[key.text] = Validator(key.text, tuple(name.text for name in names or ()), key.mark)
        return validators, mentions

    def _validator(self, key: Scalar, node: Node) -> tuple[Scalar, ...] | None:
        body = schema.mapping(node, self._problems, "a validator, as {all: [conditions]}")
        if body is None:
            return None
        entries = schema.Entries(
            body,
            self._problems,
            "a validator",
            required=("all",),
            at=key.mark,
            misplaced={"any": "a validator is a conjunction; make a condition of the any and name it here"},
        )
        listed = entries.get("all")
        return condition_names(listed, self._problems, f"the conditions of {key.text}") if listed is not None else None

    def _escalate(self) -> tuple[Scalar, ...] | None:
        node = self._top.get("escalate")
        return condition_names(node, self._problems, "escalate", may_be_empty=True) if node is not None else ()


def _parameter_mentions(root: Node) -> set[str]:
    found: set[str] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            found.update(
                value.text for key, value in node.entries if key.text == "parameter" and isinstance(value, Scalar)
            )
        if isinstance(node, (Mapping, Sequence)):
            pending.extend(children(node))
    return found
