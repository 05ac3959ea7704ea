"""A broker's key on disk: private, never overwritten, rotated without losing what was pinned."""

import json
import stat
from pathlib import Path

import pytest

from idkmesh_rules.grading.authenticity import RECEIPT_TYPE, NotAuthentic, sign
from idkmesh_rules.grading.evidence import SqliteRepository
from idkmesh_rules.grading.keys import init_broker, read_identity, rotate_broker, signing_key
from idkmesh_rules.grading.values import GradingError
from tests.support.command import idkrules
from tests.support.grading import FixtureBroker, manifest_in


def test_the_command_makes_a_private_key_and_prints_what_to_pin(tmp_path: Path) -> None:
    place = tmp_path / "broker"
    run = idkrules("broker", "init", place, "--name", "builder-1")
    assert run.returncode == 0, run.stderr
    identity = json.loads((place / "broker.json").read_text())
    assert identity["name"] == "builder-1"
    assert identity["key_id"] in run.stdout
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "signing.key").stat().st_mode) == 0o400
    key = (place / "signing.key").read_bytes()
    assert len(key) == 32
    assert key.hex() not in run.stdout + (place / "broker.json").read_text()
    again = idkrules("broker", "init", place)
    assert (again.returncode, again.stdout) == (4, "")
    assert "--rotate" in again.stderr
    assert (place / "signing.key").read_bytes() == key


def test_what_the_key_signs_the_pinned_identity_verifies_and_after_a_rotation_no_more(tmp_path: Path) -> None:
    first = init_broker(tmp_path / "broker", "b")
    spec = manifest_in(SqliteRepository(":memory:").open()).candidate
    receipt = FixtureBroker().receipt_value(spec, "journal-1", "a" * 64)._replace(key_id=first.key_id)
    signed = sign(signing_key(tmp_path / "broker"), RECEIPT_TYPE, receipt.as_json())
    assert first.authenticity.receipt(signed, spec, "journal-1", "a" * 64) == receipt
    second = rotate_broker(tmp_path / "broker")
    assert second.key_id != first.key_id
    assert (second.name, read_identity(tmp_path / "broker")) == ("b", second)
    with pytest.raises(NotAuthentic):
        second.authenticity.receipt(signed, spec, "journal-1", "a" * 64)
    (kept,) = (tmp_path / "broker" / "retired").iterdir()
    assert json.loads(kept.read_text()) == first._asdict()
    assert first.authenticity.receipt(signed, spec, "journal-1", "a" * 64) == receipt, "what was pinned still verifies"


def test_a_key_that_others_may_read_or_that_is_another_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "broker"
    init_broker(place, "b")
    key = place / "signing.key"
    key.chmod(0o440)
    with pytest.raises(GradingError, match="only its owner"):
        signing_key(place)
    key.chmod(0o600)
    key.write_bytes(b"x" * 32)
    with pytest.raises(GradingError, match="not the key of"):
        signing_key(place)
    rotate_broker(place)
    assert len(signing_key(place)) == 32, "a rotation mends it"
    key.unlink()
    key.symlink_to("/dev/zero")
    with pytest.raises(GradingError, match="can't be read"):
        signing_key(place)


BROKEN = {
    "no JSON": "{",
    "another field": '{"name": "b", "key_id": "sha256:%s", "public_key": "00", "x": 1}' % ("0" * 64),
    "a key id of another key": '{{"name": "b", "key_id": "sha256:{}", "public_key": "{}"}}'.format("0" * 64, "11" * 32),
    "a key that is none": f'{{"name": "b", "key_id": "sha256:{"0" * 64}", "public_key": "zz"}}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_identity_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    place = tmp_path / "broker"
    init_broker(place, "b")
    (place / "broker.json").chmod(0o600)
    (place / "broker.json").write_text(BROKEN[name])
    with pytest.raises(GradingError, match=r"broker\.json"):
        read_identity(place)
    assert idkrules("broker", "init", place, "--rotate").returncode == 4


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 65])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(GradingError, match="name"):
        init_broker(tmp_path / "broker", name)
    assert not (tmp_path / "broker").exists()
