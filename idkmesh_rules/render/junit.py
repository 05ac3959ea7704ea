"""Results as JUnit XML, in the form that CI systems read: suites of cases, each passed, failed, in error or skipped.

Invariant: whatever text a candidate or a bundle has, the document is well-formed XML 1.0.
"""

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple
from xml.etree import ElementTree

# XML 1.0, section 2.2: what isn't a character there can't be written, not even as a reference.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_TOTALS = ("tests", "failures", "errors", "skipped")


class Kind(Enum):
    """What became of a case that didn't pass: judged and failed, not to be judged, or not meant for this candidate."""

    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


class Trouble(NamedTuple):
    """Why a case didn't pass, in a line and whole."""

    message: str
    details: str = ""
    kind: Kind = Kind.FAILURE


class JUnitCase(NamedTuple):
    """One case: its name, the class that viewers group it by, and what was wrong with it."""

    name: str
    group: str
    trouble: Trouble | None = None
    seconds: float | None = None


class JUnitSuite(NamedTuple):
    """A named suite of cases."""

    name: str
    cases: tuple[JUnitCase, ...]


def junit_xml(suites: Iterable[JUnitSuite]) -> str:
    """The suites as one document."""
    root = ElementTree.Element("testsuites")
    totals = [_suite(root, suite) for suite in suites]
    for position, name in enumerate(_TOTALS):
        root.set(name, str(sum(total[position] for total in totals)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, suite: JUnitSuite) -> tuple[int, ...]:
    element = ElementTree.SubElement(root, "testsuite", name=_text(suite.name))
    for case in suite.cases:
        child = ElementTree.SubElement(element, "testcase", name=_text(case.name), classname=_text(case.group))
        if case.seconds is not None:
            child.set("time", f"{case.seconds:.6f}")
        if case.trouble is not None:
            told = ElementTree.SubElement(child, case.trouble.kind.value, message=_text(case.trouble.message))
            told.text = _text(case.trouble.details)
    kinds = [case.trouble.kind for case in suite.cases if case.trouble is not None]
    counts = (len(suite.cases), *(kinds.count(kind) for kind in Kind))
    for name, count in zip(_TOTALS, counts, strict=True):
        element.set(name, str(count))
    return counts


def _text(text: str) -> str:
    return _UNWRITABLE.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)
