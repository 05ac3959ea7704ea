"""An evaluation or a refusal in the forms that CI systems read: JUnit cases, GitHub annotations, a Markdown summary.

Invariants: what an evaluation's text masks is masked here, too, because both are made of the same findings; no text of a
candidate becomes a command, a table cell's end, or markup.
"""

import re
from collections.abc import Iterator
from html import escape

from idkmesh_rules.errors import Refusal
from idkmesh_rules.model.evaluation import Evaluation, Finding
from idkmesh_rules.model.facts import Severity
from idkmesh_rules.model.proof import ProofNode, Recommendation, ValidatorOutcome
from idkmesh_rules.model.reasons import REFUSALS
from idkmesh_rules.model.text import printable
from idkmesh_rules.model.truth import Truth
from idkmesh_rules.render.junit import JUnitCase, JUnitSuite, Kind, Trouble

_MOST_ANNOTATIONS = 50
_MOST_ROWS = 100
# Whatever begins markup somewhere, what begins it at the start of a line, and what makes GitHub link a bare address.
_MARKDOWN = re.compile(r"[\\`*_{}\[\]#|~@]|^[-+=]|(?<=^\d)[.)]|:(?=//)|(?<=www)\.")
_SYMBOLS = {
    Recommendation.ACCEPT: "✅",
    Recommendation.REJECT: "❌",
    Recommendation.ESCALATE: "🧑‍⚖️",
    Recommendation.INSUFFICIENT_EVIDENCE: "❔",
}


def evaluation_junit(evaluation: Evaluation) -> JUnitSuite:
    """A case a condition of each required validator, of each escalation, and of the floor where it decides."""
    cases = [
        case for outcome in evaluation.decision.validators if outcome.required for case in _cases(outcome, evaluation)
    ]
    for node in evaluation.decision.escalations:
        asks = node.value in (Truth.TRUE, Truth.UNKNOWN)
        told = _told(evaluation, "escalate", node.condition) or ["the rules ask for a person"]
        trouble = Trouble(told[0], "\n".join(told), Kind.ERROR) if asks else None
        cases.append(JUnitCase(node.condition, "escalate", trouble))
    floor = evaluation.decision.floor
    if floor is not None and floor.decides:
        cases += [_case("floor", child, evaluation) for child in floor.node.children]
    name = f"{evaluation.result['work_unit_id']} attempt {evaluation.result['attempt']}"
    return JUnitSuite(f"{name}: {evaluation.recommendation.value}", tuple(cases))


def _cases(outcome: ValidatorOutcome, evaluation: Evaluation) -> Iterator[JUnitCase]:
    for child in outcome.node.children:
        yield _case(outcome.id, child, evaluation)
    if not outcome.node.children:
        trouble = Trouble("the rule bundle doesn't have this validator", kind=Kind.ERROR)
        yield JUnitCase(outcome.id, outcome.id, trouble)


def _case(group: str, node: ProofNode, evaluation: Evaluation) -> JUnitCase:
    if node.value is Truth.TRUE:
        return JUnitCase(node.condition, group)
    if node.value is Truth.NOT_APPLICABLE:
        return JUnitCase(node.condition, group, Trouble("not applicable", kind=Kind.SKIPPED))
    told = _told(evaluation, group, node.condition)
    kind = Kind.FAILURE if node.value is Truth.FALSE else Kind.ERROR
    # What isn't to blame has no findings: another condition decided, or the condition combines others.
    message = told[0] if told else "false" if kind is Kind.FAILURE else "could not be decided"
    return JUnitCase(node.condition, group, Trouble(message, "\n".join(told), kind))


def _told(evaluation: Evaluation, group: str, condition: str) -> list[str]:
    return [
        finding.summary
        for finding in evaluation.findings
        if finding.validator == group and finding.condition == condition
    ]


def refusal_junit(refusal: Refusal) -> JUnitSuite:
    """One case that says why there is no verdict: a failure if the worker is to blame, else an error."""
    kind = Kind.FAILURE if refusal.fault == "worker" else Kind.ERROR
    details = "\n".join(printable(str(problem), 2000) for problem in refusal.problems)
    trouble = Trouble(printable(f"{refusal.reason}: {refusal.message}", 1000), details, kind)
    return JUnitSuite("idkrules: refused", (JUnitCase(refusal.reason, "refusal", trouble),))


def evaluation_annotations(evaluation: Evaluation) -> str:
    """Workflow commands of GitHub Actions: one for each finding, and one for the recommendation."""
    lines = [_annotation(_level(finding, evaluation), finding) for finding in evaluation.findings[:_MOST_ANNOTATIONS]]
    said = str(evaluation.result["decision_support"]["rationale"])
    level = {Recommendation.ACCEPT: "notice", Recommendation.REJECT: "error"}.get(evaluation.recommendation, "warning")
    lines.append(f"::{level} title={_property(f'idkrules: {evaluation.recommendation.value}')}::{_data(said)}")
    return "\n".join(lines)


def _level(finding: Finding, evaluation: Evaluation) -> str:
    if evaluation.recommendation is Recommendation.REJECT and finding.severity is not Severity.INFO:
        return "error"
    return "warning"


def _annotation(level: str, finding: Finding) -> str:
    parts = [f"title={_property(f'{finding.validator}: {finding.condition}')}"]
    if finding.path is not None:
        parts.append(f"file={_property(finding.path)}")
        if finding.line is not None:
            parts.append(f"line={finding.line}")
    return f"::{level} {','.join(parts)}::{_data(finding.summary)}"


def refusal_annotations(refusal: Refusal) -> str:
    """The refusal as one error."""
    said = "; ".join([refusal.message, *(str(problem) for problem in refusal.problems)])
    return f"::error title={_property(f'idkrules: refused, {refusal.reason}')}::{_data(printable(said, 2000))}"


def _data(text: str) -> str:
    """Text as the runner unescapes it (actions/toolkit, command.ts)."""
    return printable(text, 4000).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def evaluation_markdown(evaluation: Evaluation) -> str:
    """The step summary: recommendation, a table of checks, a table of findings, the digests."""
    result = evaluation.result
    subject = f"{result['work_unit_id']}, version {result['work_unit_version']}, attempt {result['attempt']}"
    lines = [
        f"## {_SYMBOLS[evaluation.recommendation]} {_marked(evaluation.recommendation.value)}",
        "",
        f"{_marked(subject)}: {_marked(str(result['decision_support']['rationale']))}",
        "",
        "| check | status | summary |",
        "|---|---|---|",
    ]
    lines += [f"| {_marked(each['id'])} | {each['status']} | {_marked(each['summary'])} |" for each in result["checks"]]
    if evaluation.findings:
        lines += ["", "| condition | finding | where |", "|---|---|---|"]
        for finding in evaluation.findings[:_MOST_ROWS]:
            where = "" if finding.path is None else finding.path + (f":{finding.line}" if finding.line else "")
            lines.append(f"| {_marked(finding.condition)} | {_marked(finding.summary)} | {_marked(where)} |")
        if len(evaluation.findings) > _MOST_ROWS:
            lines.append(f"| … | {len(evaluation.findings) - _MOST_ROWS} more | |")
    rules = _marked(f"{evaluation.bundle.id} {evaluation.bundle.version}")
    digests = f"Facts: `{evaluation.facts_digest}`. Decision: `{evaluation.decision_digest}`."
    lines += ["", f"Rules: {rules}. {digests}"]
    return "\n".join(lines) + "\n"


def refusal_markdown(refusal: Refusal) -> str:
    """The step summary of a refusal."""
    lines = [
        f"## ⛔ refused: {_marked(refusal.reason)}",
        "",
        _marked(f"{refusal.message} (fault: {refusal.fault})"),
        "",
    ]
    lines += [f"- {_marked(str(problem))}" for problem in refusal.problems[:_MOST_ROWS]]
    known = REFUSALS.get(refusal.reason)
    return "\n".join([*lines, "", _marked(known.remedy) if known is not None else ""]) + "\n"


def _marked(text: str) -> str:
    """Text with everything escaped that Markdown or HTML would take for markup."""
    return _MARKDOWN.sub(lambda found: "\\" + found[0], escape(printable(text, 1000), quote=False))
