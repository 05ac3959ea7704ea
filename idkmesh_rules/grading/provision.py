"""What a host keeps for grading, in one private directory: a broker's identity, its memory, evidence, and a journal a call.

Layout: `broker/` (key and identity), `jobs/` (what the broker accepted and what came of it), `evidence/` (artifacts by
content), `calls/` (a journal for each assessment). Invariants:
- Everything is mode 0700 and the owner's, and is made durable before it is used.
- A call has a journal of its own, so that calls run beside each other; a job id is unique over all of them, because the
  broker's memory is one.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.grading.keys import Identity, init_broker, read_identity, retired_identities, signing_key
from idkmesh_rules.grading.private import PlaceError, check_able, open_private, synchronize
from idkmesh_rules.result.directory import rename_without_replacing

BROKER_NAME = "local"
_PLACES = ("jobs", "evidence", "calls")


class Provision(NamedTuple):
    """The places of a host's state, all there and private; `identity` and `key` are those of its broker.

    `retired` are the identities that the broker had before its key was rotated; what they signed is still theirs.
    """

    directory: Path
    owner: int
    identity: Identity
    key: bytes
    retired: tuple[Identity, ...] = ()

    @property
    def jobs(self) -> Path:
        """The broker's memory."""
        return self.directory / "jobs"

    @property
    def evidence(self) -> Path:
        """Artifacts by content."""
        return self.directory / "evidence"

    def journal(self, assessment_id: str) -> Path:
        """The directory of the journal for an assessment, made if it isn't there; raises PlaceError."""
        place = self.directory / "calls" / sha256(assessment_id.encode()).hexdigest()
        _make(place)
        return place


def provide(directory: Path) -> Provision:
    """Make what isn't there of a host's state, and check all of it.

    Raises PlaceError for a directory that isn't private or lacks what journals need, GradingError for a broken identity.
    """
    place, owner = Path(os.path.abspath(directory)), os.geteuid()
    _make(place)
    descriptor = open_private(place, owner)
    try:
        check_able(descriptor)
        for name in _PLACES:
            _make(place / name)
        _make_broker(place)
        synchronize(descriptor)
    finally:
        os.close(descriptor)
    broker = place / "broker"
    return Provision(place, owner, read_identity(broker), signing_key(broker), retired_identities(broker))


def _make(place: Path) -> None:
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        return
    except OSError as error:
        raise PlaceError(f"{place} can't be made: {error.strerror}") from None


def _make_broker(place: Path) -> None:
    """Make the broker's identity whole or not at all: another process may be doing the same."""
    if os.path.lexists(place / "broker"):
        return
    staging = place / f".broker-{os.urandom(8).hex()}"
    init_broker(staging, BROKER_NAME)
    try:
        if not rename_without_replacing(staging, place / "broker"):
            os.rename(staging, place / "broker")
    except FileExistsError:
        _discard(staging)
    except OSError as error:
        _discard(staging)
        raise PlaceError(f"{place / 'broker'} can't be made: {error.strerror}") from None


def _discard(staging: Path) -> None:
    with suppress(OSError):
        for each in staging.iterdir():
            each.rmdir() if each.is_dir() else each.unlink()
        staging.rmdir()
