"""The editor's schema of bundle.yaml: shipped bundles satisfy it, and it knows the same words as the loader."""

import json

import jsonschema
import pytest
import yaml

from idkmesh_rules.model.bundle import BACKENDS, Form, OnEmpty, Operator, ParameterType
from idkmesh_rules.model.facts import Category, Severity
from idkmesh_rules.resources import schema_bytes, shipped_bundle, shipped_bundle_ids
from tests.unit.policy.test_policy_mistakes import BASE, FINDINGS, LEAVES, PARAMETERS, TOP, expected_places

SCHEMA = json.loads(schema_bytes("rule-bundle-1"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DEFS = SCHEMA["$defs"]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("bundle_id", shipped_bundle_ids())
def test_shipped_bundles_satisfy_the_schema(bundle_id: str) -> None:
    directory = shipped_bundle(bundle_id)
    assert directory is not None
    VALIDATOR.validate(yaml.safe_load((directory / "bundle.yaml").read_bytes()))


def test_the_words_are_those_of_the_loader() -> None:
    assert SCHEMA["properties"]["bundle"]["properties"]["backend"]["enum"] == list(BACKENDS)
    forms = [choice["title"] for choice in DEFS["condition"]["oneOf"]]
    assert sorted(forms) == sorted(form.value for form in Form if form is not Form.VALIDATOR)
    assert set(DEFS["demand"]["anyOf"][1]["properties"]) == {operator.value for operator in Operator}
    assert set(DEFS["on_empty"]["enum"]) == {option.value for option in OnEmpty}
    assert DEFS["finding"]["properties"]["severity"]["enum"] == [severity.value for severity in Severity]
    assert DEFS["finding"]["properties"]["category"]["enum"] == [category.value for category in Category]
    kinds = [choice["properties"]["type"]["const"] for choice in DEFS["parameter"]["oneOf"]]
    assert kinds == [each.value for each in ParameterType]


def test_the_base_of_the_mistakes_satisfies_the_schema() -> None:
    VALIDATOR.validate(yaml.safe_load(BASE))


SHAPES = [
    *[(TOP, name) for name in ("unknown key", "no owner", "id in capitals", "unknown backend", "a validator with any")],
    *[
        (TOP, name)
        for name in ("a validator without conditions", "escalate a text", "version of two numbers", "conditions a list")
    ],
    *[(PARAMETERS, name) for name in ("unknown type", "no default", "default of another type", "name with a dash")],
    *[
        (LEAVES, name)
        for name in ("no form", "two forms", "every without on_empty", "on_empty where it has no place", "must empty")
    ],
    *[
        (LEAVES, name)
        for name in (
            "must where it has no place",
            "count without a bound",
            "two demands",
            "unknown demand",
            "an empty list",
        )
    ],
    *[
        (LEAVES, name)
        for name in ("a list as demand", "a glob that is no list", "nothing as a value", "contains nothing")
    ],
    *[(FINDINGS, name) for name in ("unknown severity", "unknown category", "no summary")],
]


@pytest.mark.parametrize(("table", "name"), SHAPES, ids=[name for _table, name in SHAPES])
def test_a_mistake_of_shape_is_one_for_the_editor_too(table: dict, name: str) -> None:
    text, _places = expected_places(table[name][0])
    assert not VALIDATOR.is_valid(yaml.safe_load(text))
