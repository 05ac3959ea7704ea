"""What of a hidden plan's result may be shown: JSON values as short text, with the verifier's expectations masked.

Invariants: a value is masked for where it stands (a secret field of a fact or of a key, anything of the plan) and for what it
holds (an expectation, whole or inside a longer text); a result whose plan can't be read is masked as if it were hidden.
"""

from collections.abc import Iterable
from typing import Any

from idkmesh_rules.audit.differences import ABSENT, Path
from idkmesh_rules.contracts.schema import shorten
from idkmesh_rules.model.documents import AnyPlan
from idkmesh_rules.model.facts import FactKind
from idkmesh_rules.result.findings import HIDDEN, Mask, mask_for, reveal

_PLAN = "inputs/evaluator-plan.json"


class Veil:
    """How values of one result are shown. `mask` is what `result.findings` masks secret fields with."""

    def __init__(
        self, mask: Mask, secrets: Iterable[str], fields: Iterable[str], supplied: Iterable[str] = (), *, hidden: bool
    ) -> None:
        self.mask = mask
        self.hidden = hidden
        self._secrets = sorted(set(secrets) - {""}, key=len, reverse=True)
        self._fields = frozenset(fields)
        self._supplied = frozenset(supplied)

    @classmethod
    def of(cls, plan: AnyPlan, kinds: Iterable[FactKind], *, revealed: bool) -> "Veil":
        """The veil that a plan asks for; none if it isn't hidden, or on demand."""
        hidden = plan.hidden and not revealed
        declared = [field for kind in kinds for field in kind.fields if field.secret] if hidden else []
        fields, supplied = ({field.name for field in declared if field.supplied is own} for own in (False, True))
        secrets = plan.demands.secrets if hidden else ()
        return cls(mask_for(plan, revealed=revealed), secrets, fields, supplied, hidden=hidden)

    @classmethod
    def of_nothing_known(cls, *, revealed: bool) -> "Veil":
        """The veil for a result whose plan can't be read."""
        return cls(reveal if revealed else lambda _: "[hidden]", (), (), hidden=not revealed)

    def text(self, text: str) -> str:
        """Any text, with the expectations in it masked."""
        for secret in self._secrets:
            text = text.replace(secret, self.mask(secret))
        return text

    def shown(self, value: Any, file: str, path: Path, most: int = 60) -> str:
        """A JSON value of a file as short text that no character of can drive a terminal."""
        if value is ABSENT:
            return "nothing"
        if self.hidden and file == _PLAN:
            return "[hidden]"
        named = [part for part in path if isinstance(part, str)]
        return shorten(self._veiled(value, named[-1] if named else ""), most)

    def _veiled(self, value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {self.text(key): self._veiled(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self._veiled(each, name) for each in value]
        if isinstance(value, str):
            if name in self._supplied:
                return HIDDEN
            return self.mask(value) if name in self._fields else self.text(value)
        return value
