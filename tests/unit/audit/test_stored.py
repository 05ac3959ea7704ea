"""facts.json read back: what an evaluation wrote is taken, anything else is tampering, with its place."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from idkmesh_rules.audit.stored import UNRECORDED, read_store
from idkmesh_rules.checks import backend_kinds
from idkmesh_rules.contracts.strict_json import read_document
from idkmesh_rules.errors import ContractError
from idkmesh_rules.model.documents import Document
from idkmesh_rules.model.facts import Unknown
from tests.support.bundles import make

KINDS = backend_kinds("unified_diff")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("stored")
    make(place / "case").evaluate(output_dir=place / "out")
    value: dict[str, Any] = json.loads((place / "out" / "facts.json").read_text())
    return value


def document(value: Any) -> Document:
    return read_document(json.dumps(value).encode(), "facts", "facts.json", max_bytes=2**22)


def kind(value: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(entry for entry in value["kinds"] if entry["kind"] == name)
    return found


def at(name: str) -> str:
    return f"/kinds/{sorted(KINDS).index(name)}"


PATH, FILE, BINDING = at("patch.path"), at("candidate.file"), at("manifest.binding")


def fields(value: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = kind(value, name)["facts"][0]["fields"]
    return found


TAMPERINGS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "a text for a bool": (
        lambda v: fields(v, "patch.path").update(authorized="true"),
        f"{PATH}/facts/0/fields/authorized",
        "type bool",
    ),
    "a number for a bool": (
        lambda v: fields(v, "patch.path").update(authorized=1),
        f"{PATH}/facts/0/fields/authorized",
        "type bool",
    ),
    "a bool for a number": (
        lambda v: fields(v, "candidate.file").update(bytes=True),
        f"{FILE}/facts/0/fields/bytes",
        "type int",
    ),
    "a float for a number": (
        lambda v: fields(v, "candidate.file").update(bytes=1.0),
        f"{FILE}/facts/0/fields/bytes",
        "type int",
    ),
    "null": (lambda v: fields(v, "patch.path").update(reason=None), f"{PATH}/facts/0/fields/reason", "type string"),
    "no value of the enum": (
        lambda v: fields(v, "candidate.file").update(state="fine"),
        f"{FILE}/facts/0/fields/state",
        "type enum",
    ),
    "a digest in capitals": (
        lambda v: fields(v, "candidate.file").update(observed_digest="sha256:" + "AB" * 32),
        f"{FILE}/facts/0/fields/observed_digest",
        "type digest",
    ),
    "an unknown field": (
        lambda v: fields(v, "patch.path").update(approved=True),
        f"{PATH}/facts/0/fields",
        'no field "approved"',
    ),
    "a field that is missing": (
        lambda v: fields(v, "patch.path").pop("authorized"),
        f"{PATH}/facts/0/fields",
        "authorized is missing",
    ),
    "a key field that is missing": (
        lambda v: fields(v, "patch.path").pop("path"),
        f"{PATH}/facts/0/fields",
        "key field path is missing",
    ),
    "a key that is unknown": (
        lambda v: (
            fields(v, "patch.path").pop("path"),
            kind(v, "patch.path")["facts"][0]["unknown"].update(path="gone"),
        ),
        f"{PATH}/facts/0/unknown/path",
        "never unknown",
    ),
    "known and unknown at once": (
        lambda v: kind(v, "patch.path")["facts"][0]["unknown"].update(authorized="gone"),
        f"{PATH}/facts/0/unknown/authorized",
        "known as well",
    ),
    "unknown for no reason": (
        lambda v: (
            fields(v, "patch.path").pop("authorized"),
            kind(v, "patch.path")["facts"][0]["unknown"].update(authorized=True),
        ),
        f"{PATH}/facts/0/unknown/authorized",
        "reason",
    ),
    "facts in another order": (
        lambda v: kind(v, "candidate.file")["facts"].reverse(),
        f"{FILE}/facts/1",
        "not in key order",
    ),
    "a fact twice": (
        lambda v: kind(v, "patch.path")["facts"].append(kind(v, "patch.path")["facts"][0]),
        f"{PATH}/facts/1",
        "stands already",
    ),
    "kinds in another order": (lambda v: v["kinds"].reverse(), "/kinds", "order"),
    "a kind twice": (lambda v: v["kinds"].append(v["kinds"][-1]), f"/kinds/{len(KINDS)}/kind", "a second time"),
    "a kind that is missing": (lambda v: v["kinds"].pop(), "/kinds", "worker.status is missing"),
    "an unknown kind": (lambda v: v["kinds"][0].update(kind="candidate.virtue"), "/kinds/0/kind", "no such kind"),
    "a fact without origin": (
        lambda v: kind(v, "patch.path")["facts"][0].update(origins=[]),
        f"{PATH}/facts/0/origins",
        "at least one",
    ),
    "an origin in line 0": (
        lambda v: kind(v, "patch.path")["facts"][0]["origins"][0].update(line=0),
        f"{PATH}/facts/0/origins/0",
        "line from 1",
    ),
    "an origin twice": (
        lambda v: kind(v, "patch.path")["facts"][0]["origins"].append(kind(v, "patch.path")["facts"][0]["origins"][0]),
        f"{PATH}/facts/0/origins",
        "order",
    ),
    "complete as a text": (lambda v: kind(v, "patch.path").update(complete="yes"), f"{PATH}/complete", "true or false"),
    "a key too many": (lambda v: kind(v, "patch.path").update(verified=True), PATH, 'key "verified" is unknown'),
    "an array for a fact": (
        lambda v: kind(v, "patch.path").update(facts=[[]]),
        f"{PATH}/facts/0",
        "expected an object",
    ),
    "an object for the facts": (lambda v: kind(v, "patch.path").update(facts={}), f"{PATH}/facts", "expected an array"),
    "a number for the kinds": (lambda v: v.update(kinds=3), "/kinds", "expected an array"),
    "fields as an array": (
        lambda v: kind(v, "patch.path")["facts"][0].update(fields=[]),
        f"{PATH}/facts/0/fields",
        "expected an object",
    ),
    "another version of the format": (lambda v: v.update(schema_version="2.0"), "/schema_version", '"1.0"'),
    "a document without digest": (lambda v: v["documents"].update({"work-unit": "none"}), "/documents", "digests"),
    "a top-level key too many": (lambda v: v.update(note="hello"), "", 'key "note" is unknown'),
    "a top-level key too few": (lambda v: v.pop("documents"), "", "key documents is missing"),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_what_no_evaluation_writes_is_refused_with_its_place(honest: dict[str, Any], what: str) -> None:
    edit, pointer, message = TAMPERINGS[what]
    value = copy.deepcopy(honest)
    edit(value)
    with pytest.raises(ContractError) as caught:
        read_store(document(value), KINDS)
    assert [problem.pointer for problem in caught.value.problems][:1] == [pointer]
    assert message in caught.value.problems[0].message
    assert caught.value.problems[0].document == "facts.json"


def test_many_faults_are_told_up_to_a_bound(honest: dict[str, Any]) -> None:
    value = copy.deepcopy(honest)
    kind(value, "patch.path")["facts"] = [{}] * 10_000
    with pytest.raises(ContractError) as caught:
        read_store(document(value), KINDS)
    assert len(caught.value.problems) == 20


def test_no_message_quotes_a_value_or_a_name_that_drives_a_terminal(honest: dict[str, Any]) -> None:
    value = copy.deepcopy(honest)
    fields(value, "requirement.line").update(present="SECRET", **{"\x1b[31m": 1})
    with pytest.raises(ContractError) as caught:
        read_store(document(value), KINDS)
    assert "SECRET" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_what_another_version_did_not_record_is_unknown_and_never_a_pass(honest: dict[str, Any]) -> None:
    value = copy.deepcopy(honest)
    fields(value, "patch.path").pop("authorized")
    value["kinds"] = [entry for entry in value["kinds"] if entry["kind"] != "worker.status"]
    store = read_store(document(value), KINDS, other_version=True)
    index = KINDS["patch.path"].index
    assert store["patch.path"].rows[0][index["authorized"]] == Unknown(UNRECORDED)
    assert (store["worker.status"].complete, store["worker.status"].reason) == (False, UNRECORDED)


def test_another_version_may_not_leave_out_a_key(honest: dict[str, Any]) -> None:
    value = copy.deepcopy(honest)
    fields(value, "patch.path").pop("path")
    with pytest.raises(ContractError, match="key field path is missing"):
        read_store(document(value), KINDS, other_version=True)
