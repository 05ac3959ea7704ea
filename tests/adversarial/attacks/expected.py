"""What has to be seen of a hostile job: expectations, each of which says what was seen, or raises NotHeld."""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from idkmesh_rules.grading.protocol import CheckResult, ProtocolError, compare, exported_values
from idkmesh_rules.grading.values import JobOutcome
from idkmesh_rules.sandbox.interface import Finished
from tests.adversarial.attacks.stage import LIMITS, NotHeld

Expectation = Callable[[Finished], str]
"""Says in a few words what was seen; raises NotHeld when it isn't what has to be."""

_CHECKS = ("answer",)
_EXPECTED = json.dumps({"protocol": "cortex.json-equality.v1", "values": {"answer": 42}}).encode()


def told(finished: Finished) -> str:
    code = "" if finished.exit_code is None else f" {finished.exit_code}"
    last = finished.stderr.data.decode(errors="replace").strip().splitlines()[-1:]
    return f"{finished.outcome.value}{code}{': ' if last else ''}{''.join(last)}"


def pairs(finished: Finished) -> dict[str, str]:
    """What came of each way that a program tried; the last word counts."""
    return {way: str(result) for way, result in map(json.loads, finished.stdout.data.splitlines())}


def ways(expected: Mapping[str, str], *, code: int = 0) -> Expectation:
    """Each way has to be tried, and to come to what is said of it; alternatives stand between bars."""

    def seen(finished: Finished) -> str:
        if (finished.outcome, finished.exit_code) != (JobOutcome.EXITED, code):
            raise NotHeld(told(finished))
        found = pairs(finished)
        wrong = [
            f"{way}: {result}"
            for way, result in found.items()
            if result != "absent" and result not in expected.get(way, "").split("|")
        ]
        missing = [f"{way} not tried" for way in expected if way not in found]
        if wrong or missing:
            raise NotHeld(", ".join([*wrong, *missing]))
        return grouped(found)

    return seen


def all_of(result: str, *names: str) -> dict[str, str]:
    """The same result for several ways, whose names stand between commas."""
    return dict.fromkeys((each for name in names for each in name.split(", ")), result)


def grouped(found: Mapping[str, str]) -> str:
    by_result: dict[str, list[str]] = {}
    for way, result in found.items():
        by_result.setdefault(result, []).append(way)
    parts = []
    for result, names in by_result.items():
        more = f" and {len(names) - 3} more" if len(names) > 4 else ""
        parts.append(f"{', '.join(names[:3] if more else names)}{more}: {result}")
    return "; ".join(parts)


def ends(*outcomes: JobOutcome, export: bytes | None = None) -> Expectation:
    """One of some outcomes, and exactly this export."""

    def seen(finished: Finished) -> str:
        if finished.outcome not in outcomes or finished.export != export:
            size = "no export" if finished.export is None else f"an export of {len(finished.export)} bytes"
            raise NotHeld(f"{told(finished)}; {size}")
        if export is not None:
            return f"{told(finished)}, and exported what it had written"
        return f"ended: {finished.outcome.value}"

    return seen


def bounded(finished: Finished) -> str:
    """Ended for its output, of which no more than allowed was kept."""
    text = ends(JobOutcome.OUTPUT)(finished)
    kept = max(len(finished.stdout.data), len(finished.stderr.data))
    if kept > LIMITS.output_bytes or not (finished.stdout.truncated or finished.stderr.truncated):
        raise NotHeld(f"{kept} bytes were kept")
    return f"{text}; {kept} bytes kept"


def at_most(way: str, most: int, *outcomes: JobOutcome) -> Expectation:
    """What a program counted of something is at most so much; or it was ended for it, by one of some outcomes."""

    def seen(finished: Finished) -> str:
        if finished.outcome in outcomes:
            return f"ended: {finished.outcome.value}"
        found = pairs(finished) if finished.outcome is JobOutcome.EXITED else {}
        if way not in found or int(found[way]) > most:
            raise NotHeld(f"{told(finished)}; {way}: {found.get(way, 'not told')}")
        return f"{way}: {found[way]} of at most {most}"

    return seen


class Verdict(NamedTuple):
    """What the supervisor makes of an export, in the worst case of a grader that says `passed` to everything."""

    passed: bool
    text: str


def judged(finished: Finished) -> Verdict:
    if finished.export is None:
        return Verdict(False, f"{told(finished)}, no export: missing")
    try:
        values = exported_values(finished.export, _CHECKS)
    except ProtocolError as error:
        return Verdict(False, f"invalid: {error}")
    expected = exported_values(_EXPECTED, _CHECKS)
    results = [
        compare(_CHECKS, expected, values, {"answer": status})[0].result.value for status in ("passed", "failed")
    ]
    return Verdict(CheckResult.PASSED.value in results, results[0])


def not_passed(finished: Finished) -> str:
    verdict = judged(finished)
    if verdict.passed:
        raise NotHeld("the check passed")
    return verdict.text


def passed(finished: Finished) -> str:
    verdict = judged(finished)
    if not verdict.passed:
        raise NotHeld(verdict.text)
    return "passed, with a grader that says so"
