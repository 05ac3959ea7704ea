"""May this path be changed? One answer for patches and for workspaces.

Invariants:

* ``authorized`` = ``allowed`` and ``writable`` and not ``forbidden`` and not ``reserved``, for every judgement.
* ``code`` and ``reason`` are None exactly if the path is authorized.
"""

from typing import NamedTuple

from idkmesh_rules.paths.disguise import show
from idkmesh_rules.paths.patterns import compile_allow, compile_forbid
from idkmesh_rules.paths.reserved import ReservedReason, reserved


class Judgement(NamedTuple):
    """What was found about one path.

    ``reason`` says of the path what is wrong ("it is …"); ``code`` its class: ``git-dir``, ``path`` or ``git-meta``.
    """

    allowed: bool
    writable: bool
    forbidden: bool
    reserved: bool
    authorized: bool
    reason: str | None
    code: ReservedReason | None


_AUTHORIZED = Judgement(True, True, False, False, True, None, None)


class PathAuthority:
    """Judges paths by a WorkUnit's three lists and by what is reserved everywhere."""

    __slots__ = ("_allowed", "_forbidden", "_writable")

    def __init__(self, allowed: tuple[str, ...], writable: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
        """Compile the lists; raises `PatternError` for a pattern that is refused."""
        self._allowed = compile_allow(allowed)
        self._writable = compile_allow(writable)
        self._forbidden = compile_forbid(forbidden)

    def judge(self, path: str) -> Judgement:
        """Return the judgement of ``path``: decoded, relative to the root, ``/`` between its components."""
        allowed = self._allowed.match(path) is not None
        writable = self._writable.match(path) is not None
        forbidden = self._forbidden.match(path)
        hold = reserved(path)
        if hold and hold.lifted_by_exact_pattern and self._names_exactly(path):
            hold = None
        if allowed and writable and forbidden is None and hold is None:
            return _AUTHORIZED
        code: ReservedReason = "path"
        if hold and hold.reason == "git-dir":
            code, reason = hold.reason, hold.message
        elif hold and hold.reason == "path":
            reason = hold.message
        elif forbidden is not None:
            reason = f"it is forbidden by the pattern {show(forbidden)}"
        elif not allowed:
            reason = "it is outside the allowed paths"
        elif not writable:
            reason = "it is outside the paths that may be written"
        else:
            assert hold is not None
            code, reason = hold.reason, hold.message
        return Judgement(allowed, writable, forbidden is not None, hold is not None, False, reason, code)

    def _names_exactly(self, path: str) -> bool:
        return self._allowed.names_exactly(path) or self._writable.names_exactly(path)
