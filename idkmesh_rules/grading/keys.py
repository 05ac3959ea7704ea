"""A broker's identity on disk: a signing key that only its owner reads, and what a host pins.

Invariants: a key is never overwritten and never printed; rotating keeps what was pinned before, so that old receipts can
still be told apart from forgeries; a directory in which key and identity don't fit each other is refused, never guessed at
(design: grading, *Broker, receipts, authenticity*).
"""

import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from idkmesh_rules.grading.authenticity import Authenticity, key_id_of
from idkmesh_rules.grading.values import Fields, GradingError

KEY_FILE, IDENTITY_FILE, RETIRED = "signing.key", "broker.json", "retired"
_NAME_BYTES = 64


class Identity(NamedTuple):
    """What a host pins: the broker's name, the id of its key, and the raw public key in hexadecimal digits."""

    name: str
    key_id: str
    public_key: str

    @property
    def authenticity(self) -> Authenticity:
        """What verifies messages of this broker."""
        return Authenticity(self.name, bytes.fromhex(self.public_key))


def init_broker(directory: Path, name: str) -> Identity:
    """Make `directory` with a new key; raises GradingError when it exists or can't be made."""
    if not name.isprintable() or not 0 < len(name.encode()) <= _NAME_BYTES:
        raise GradingError(f"a broker's name has 1 to {_NAME_BYTES} printable bytes")
    try:
        directory.mkdir(mode=0o700, parents=True)
        (directory / RETIRED).mkdir(mode=0o700)
        return _install(directory, name)
    except FileExistsError:
        raise GradingError(f"{directory} exists already; --rotate makes a new key for the broker in it") from None
    except OSError as error:
        raise GradingError(f"{directory} can't be written: {error.strerror}") from None


def rotate_broker(directory: Path) -> Identity:
    """Give the broker in `directory` a new key, and keep its old identity in `retired/`; raises GradingError.

    A rotation that was interrupted is finished by another one.
    """
    identity = read_identity(directory)
    try:
        retired = directory / RETIRED / f"{identity.key_id.partition(':')[2]}.json"
        if not retired.exists():
            _write(retired, _identity_bytes(identity), 0o400)
        return _install(directory, identity.name)
    except OSError as error:
        raise GradingError(f"{directory} can't be written: {error.strerror}") from None


def read_identity(directory: Path) -> Identity:
    """The identity in `directory`, as a host pins it; raises GradingError."""
    return _identity(directory / IDENTITY_FILE)


def retired_identities(directory: Path) -> tuple[Identity, ...]:
    """The identities that the broker in `directory` had before, in the order of their key ids; raises GradingError."""
    try:
        files = sorted((directory / RETIRED).glob("*.json"))
    except OSError as error:
        raise GradingError(f"{directory / RETIRED} can't be read: {error.strerror}") from None
    return tuple(map(_identity, files))


def _identity(path: Path) -> Identity:
    try:
        value = json.loads(_small_file(path)[0])
    except OSError as error:
        raise GradingError(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise GradingError(f"{path} is no broker's identity") from None
    fields = Fields(value, IDENTITY_FILE, Identity._fields)
    identity = Identity(fields.text("name", _NAME_BYTES), fields.digest("key_id"), fields.text("public_key", 64))
    try:
        raw = bytes.fromhex(identity.public_key)
    except ValueError:
        raw = b""
    if len(raw) != 32 or key_id_of(raw) != identity.key_id:
        raise GradingError(f"{path}: key_id is not that of public_key")
    return identity


def signing_key(directory: Path) -> bytes:
    """The raw signing key in `directory`, if it is its owner's alone and fits the identity; raises GradingError."""
    path = directory / KEY_FILE
    try:
        data, found = _small_file(path, os.O_NOFOLLOW)
    except OSError as error:
        raise GradingError(f"{path} can't be read: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077 or found.st_uid != os.geteuid():
        raise GradingError(f"{path} has to be a file that only its owner may read, and ours")
    if len(data) != 32 or _public(data) != bytes.fromhex(read_identity(directory).public_key):
        raise GradingError(f"{path} is not the key of {IDENTITY_FILE}; idkrules broker init --rotate makes a new one")
    return data


def _small_file(path: Path, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """The beginning of a file and what it is; raises OSError. A FIFO that nobody writes to isn't waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags)
    try:
        return os.read(descriptor, 4096), os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _install(directory: Path, name: str) -> Identity:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate().private_bytes_raw()
    public = _public(private)
    identity = Identity(name, key_id_of(public), public.hex())
    # The key first: an identity that nobody can sign for is noticed, a key that nobody pins is harmless.
    _write(directory / KEY_FILE, private, 0o400)
    _write(directory / IDENTITY_FILE, _identity_bytes(identity), 0o444)
    return identity


def _public(private: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def _identity_bytes(identity: Identity) -> bytes:
    return json.dumps(identity._asdict(), indent=2).encode() + b"\n"


def _write(path: Path, data: bytes, mode: int) -> None:
    """Put a file in its place whole and on disk."""
    staging = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    descriptor = os.open(staging, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(descriptor, data)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        staging.rename(path)
    except BaseException:
        staging.unlink(missing_ok=True)
        raise
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)
