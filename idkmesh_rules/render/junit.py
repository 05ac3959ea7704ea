"""Results as JUnit XML, in the form that CI systems read: suites of cases, each passed, failed or in error.

Invariant: whatever text a candidate or a bundle has, the document is well-formed XML 1.0.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

# XML 1.0, section 2.2: what isn't a character there can't be written, not even as a reference.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Trouble(NamedTuple):
    """Why a case didn't pass; `error` if it could not be judged, else it was judged and failed."""

    message: str
    details: str = ""
    error: bool = False


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
    for position, name in enumerate(("tests", "failures", "errors")):
        root.set(name, str(sum(total[position] for total in totals)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, suite: JUnitSuite) -> tuple[int, int, int]:
    element = ElementTree.SubElement(root, "testsuite", name=_text(suite.name))
    for case in suite.cases:
        child = ElementTree.SubElement(element, "testcase", name=_text(case.name), classname=_text(case.group))
        if case.seconds is not None:
            child.set("time", f"{case.seconds:.6f}")
        if case.trouble is not None:
            tag = "error" if case.trouble.error else "failure"
            told = ElementTree.SubElement(child, tag, message=_text(case.trouble.message))
            told.text = _text(case.trouble.details)
    errors = sum(case.trouble is not None and case.trouble.error for case in suite.cases)
    failures = sum(case.trouble is not None and not case.trouble.error for case in suite.cases)
    counts = (len(suite.cases), failures, errors)
    for name, count in zip(("tests", "failures", "errors"), counts, strict=True):
        element.set(name, str(count))
    return counts


def _text(text: str) -> str:
    return _UNWRITABLE.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)
