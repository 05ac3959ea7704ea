"""RFC 3339 date-times, really checked: the format and the calendar."""

import re
from datetime import datetime

_FORM = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}):([0-9]{2})(\.[0-9]{1,12})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def is_timestamp(text: object) -> bool:
    """Whether `text` is an RFC 3339 date-time that exists; a 60th second is taken only where a leap second can fall."""
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if not found:
        return False
    day, minute, second, _, zone = found.groups()
    leap = second == "60"
    try:
        moment = datetime.fromisoformat(
            f"{day}T{minute}:{'59' if leap else second}{'+00:00' if zone in 'Zz' else zone}"
        )
        utc = moment - (moment.utcoffset() or moment.resolution * 0)
    except (ValueError, OverflowError):
        return False
    return not leap or (utc.hour, utc.minute) == (23, 59)
