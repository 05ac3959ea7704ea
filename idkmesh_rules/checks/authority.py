"""The fields in which every kind about a path tells its authority, and the laws between them, declared once.

Invariant: a path's fields come from the one function that judges paths (design: facts-and-policy, *Path authority*).
"""

from idkmesh_rules.model.facts import Field, FieldType, Invariant
from idkmesh_rules.paths.authority import Judgement

AUTHORITY_FIELDS = (
    Field("allowed", FieldType.BOOL, "matched by constraints.allowed_paths"),
    Field("writable", FieldType.BOOL, "matched by permissions.filesystem_write"),
    Field("forbidden", FieldType.BOOL, "matched by constraints.forbidden_paths"),
    Field("reserved", FieldType.BOOL, "a name that nobody may touch"),
    Field("authorized", FieldType.BOOL, "allowed and writable and neither forbidden nor reserved"),
    Field("reason", FieldType.STRING, "why it is not authorized", optional=True),
)
AUTHORITY_LAWS = (
    Invariant(
        "authorized = allowed ∧ writable ∧ ¬forbidden ∧ ¬reserved",
        ("allowed", "writable", "forbidden", "reserved", "authorized"),
        lambda allowed, writable, forbidden, reserved, authorized: (
            authorized == (allowed and writable and not forbidden and not reserved)
        ),
    ),
    Invariant(
        "a reason stands exactly where authority is missing",
        ("authorized", "reason"),
        lambda authorized, reason: authorized == (reason is None),
    ),
)


def authority_row(judged: Judgement) -> tuple[bool, bool, bool, bool, bool, str | None]:
    """The values of `AUTHORITY_FIELDS`."""
    return judged.allowed, judged.writable, judged.forbidden, judged.reserved, judged.authorized, judged.reason
