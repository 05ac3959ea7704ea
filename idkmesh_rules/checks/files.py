"""The declared files: the candidate patch, other artifacts and logs, by state, size and digest.

Invariants: the digest that counts is the one taken here; a file without a declared digest never matches; a file that the
verifier could not read is unknown in everything that depends on it, and nobody's fault.
"""

from collections.abc import Iterator

from idkmesh_rules.checks.check import Asked, Case, Check, Emission, unread_reason
from idkmesh_rules.model.facts import (
    Category,
    FactKind,
    Field,
    FieldType,
    FindingTemplate,
    Invariant,
    Origin,
    Row,
    Severity,
    Unknown,
)
from idkmesh_rules.model.observation import FileObservation, FileState

CANDIDATE_FILE = FactKind(
    "candidate.file",
    "A file that the manifest declares, as it was found below the candidate root.",
    (
        Field(
            "role",
            FieldType.ENUM,
            "the plan's candidate, another artifact, or a log",
            key=True,
            values=("candidate", "artifact", "log"),
        ),
        Field("name", FieldType.STRING, "artifact id, or logs/<index>", key=True),
        Field("locator", FieldType.STRING, "where the manifest says that it lies"),
        Field("state", FieldType.ENUM, "what stands there", values=tuple(state.value for state in FileState)),
        Field("bytes", FieldType.INT, "size of a regular file", optional=True),
        Field("within_limit", FieldType.BOOL, "a regular file no larger than the verifier's limit", optional=True),
        Field("declared_digest", FieldType.DIGEST, "as the manifest claims", optional=True),
        Field("observed_digest", FieldType.DIGEST, "of the bytes that were read", optional=True),
        Field("digest_matches", FieldType.BOOL, "a digest is declared and is the observed one"),
        Field("fault", FieldType.STRING, "what is wrong with it, in words", optional=True),
    ),
    FindingTemplate(Severity.HIGH, Category.PROVENANCE, "the {role} {name} is not intact: {fault}"),
    (
        Invariant(
            "a matching digest is declared and observed",
            ("declared_digest", "observed_digest", "digest_matches"),
            lambda declared, observed, matches: matches == (declared is not None and declared == observed),
        ),
        Invariant(
            "only a regular file has a size",
            ("state", "bytes"),
            lambda state, size: (state == "regular") == (size is not None),
        ),
        Invariant(
            "only a regular file is within a limit or over it",
            ("state", "within_limit"),
            lambda state, within: (state == "regular") == (within is not None),
        ),
        Invariant(
            "a fault is named exactly if the file is not what was declared",
            ("state", "within_limit", "digest_matches", "fault"),
            lambda state, within, matches, fault: (fault is None) == (state == "regular" and bool(within) and matches),
        ),
        Invariant(
            "only a regular file has an observed digest",
            ("state", "observed_digest"),
            lambda state, observed: state == "regular" or observed is None,
        ),
    ),
)

LOG_COVERAGE = FactKind(
    "log.coverage",
    "A type of log that the plan requires or the manifest declares, and how many are declared.",
    (
        Field(
            "type", FieldType.ENUM, "type of log", key=True, values=("stdout", "stderr", "trace", "tool_calls", "other")
        ),
        Field("required", FieldType.BOOL, "the plan requires it"),
        Field("count", FieldType.INT, "logs of that type in the manifest"),
    ),
    FindingTemplate(
        Severity.HIGH, Category.PROVENANCE, "{count} logs of the required type {type} are declared, not one"
    ),
)


def _row(role: str, name: str, declared: str | None, seen: FileObservation) -> Row:
    if seen.state is None:
        gone = Unknown(seen.unreadable or "not looked at")
        matches: bool | Unknown = gone if declared else False
        return (role, name, seen.locator, gone, gone, gone, declared, gone, matches, gone)
    regular = seen.state is FileState.REGULAR
    observed: str | Unknown | None = seen.digest
    if regular and seen.digest is None:
        observed = Unknown(f"not hashed: {unread_reason(seen)}")
    matches = observed if declared and type(observed) is Unknown else declared is not None and declared == observed
    size, within = (seen.size, seen.within_limit) if regular else (None, None)
    fault = _fault(declared, seen)
    return (role, name, seen.locator, seen.state.value, size, within, declared, observed, matches, fault)


def _fault(declared: str | None, seen: FileObservation) -> str | None:
    if seen.state is FileState.UNDECLARED:
        return unread_reason(seen)
    if seen.digest is None:
        return f"{seen.locator}: {unread_reason(seen)}"
    if declared is None:
        return f"{seen.locator}: no digest is declared for it"
    return None if declared == seen.digest else f"{seen.locator}: its digest is {seen.digest}, declared is {declared}"


def _artifacts(case: Case) -> Iterator[Emission]:
    wanted, check = case.candidate_id, "artifact-digest"
    for position, artifact in enumerate(case.manifest.artifacts):
        role = "candidate" if artifact.id == wanted else "artifact"
        row = _row(role, artifact.id, artifact.digest, case.artifact(artifact))
        yield Emission(CANDIDATE_FILE, row, Origin(check, "result-manifest", pointer=f"/produced_artifacts/{position}"))
    if wanted is not None and case.candidate.state is FileState.UNDECLARED:
        yield Emission(
            CANDIDATE_FILE,
            _row("candidate", wanted, None, case.candidate),
            Origin(check, "evaluator-plan", pointer="/candidate_artifact_id"),
        )


def _artifacts_asked(case: Case) -> Asked:
    wanted = case.candidate_id
    keys = {("artifact", artifact.id) for artifact in case.manifest.artifacts if artifact.id != wanted}
    return {CANDIDATE_FILE.name: frozenset(keys if wanted is None else {("candidate", wanted), *keys})}


def _logs(case: Case) -> Iterator[Emission]:
    limit, check, logs = case.plan.demands.max_log_bytes, "log-integrity", case.manifest.logs
    for position, log in enumerate(logs):
        row = _row("log", f"logs/{position}", log.digest, case.observations[log.locator, limit])
        yield Emission(CANDIDATE_FILE, row, Origin(check, "result-manifest", pointer=f"/logs/{position}"))
    required = frozenset(case.plan.demands.required_log_types)
    for log_type in sorted(required | {log.type for log in logs}):
        count = sum(log.type == log_type for log in logs)
        place = (
            ("evaluator-plan", "/backend/required_log_types") if log_type in required else ("result-manifest", "/logs")
        )
        yield Emission(LOG_COVERAGE, (log_type, log_type in required, count), Origin(check, place[0], pointer=place[1]))


def _logs_asked(case: Case) -> Asked:
    types = {*case.plan.demands.required_log_types, *(log.type for log in case.manifest.logs)}
    return {
        CANDIDATE_FILE.name: frozenset(("log", f"logs/{position}") for position in range(len(case.manifest.logs))),
        LOG_COVERAGE.name: frozenset((log_type,) for log_type in types),
    }


ARTIFACT_CHECK = Check(
    "artifact-digest",
    "the candidate and the other artifacts: state, size and SHA-256",
    "artifact_hash",
    (CANDIDATE_FILE,),
    _artifacts,
    _artifacts_asked,
)
LOG_CHECK = Check(
    "log-integrity",
    "each declared log: state, size and SHA-256; each required type of log",
    "artifact_hash",
    (CANDIDATE_FILE, LOG_COVERAGE),
    _logs,
    _logs_asked,
)
