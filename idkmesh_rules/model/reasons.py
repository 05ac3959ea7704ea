"""The registry of refusal reasons: code, meaning, remedy. Codes are stable once released.

The reason classes of a patch stand beside the grammar (`diff.REASONS`); `idkrules reasons` prints both.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Reason(NamedTuple):
    """Why the verifier refuses, for a person: what the code means and what to do."""

    code: str
    meaning: str
    remedy: str


REFUSALS: Mapping[str, Reason] = {
    reason.code: reason
    for reason in (
        Reason(
            "candidate-root-unusable",
            "the candidate root isn't a directory that the verifier can look at",
            "name the directory that holds the candidate's files",
        ),
        Reason(
            "plan-sandboxed",
            "the plan is of version 0.5 and lets the candidate's code run in a sandbox; evaluate runs nothing",
            "`idkrules grade` is the verb that serves such plans; give evaluate a plan of another version",
        ),
        Reason(
            "plan-metadata-only",
            "the plan judges metadata only, and grade is for plans of version 0.5, which let the candidate's code run",
            "`idkrules evaluate` is the verb that serves such plans",
        ),
        Reason(
            "plan-exceeds-work-unit",
            "the plan runs more, or for longer, than the WorkUnit allows",
            "issue a plan within the WorkUnit's permissions and budget",
        ),
        Reason(
            "protected-invalid",
            "a file that the plan names beside itself is missing, too large, not the one that it pins, or no document that a "
            "grading can use",
            "put the pinned files where the plan says, or mend them and issue a plan that pins these",
        ),
        Reason(
            "sandbox-unavailable",
            "there is no sandbox on this machine, so that nothing can be graded",
            "install what is named: apt-get install bubblewrap libseccomp2",
        ),
        Reason(
            "sandbox-unfit",
            "the sandbox of this machine can't run the plan's jobs, or doesn't enforce a control that the plan requires",
            "grade on another machine, or issue a plan that this one can serve",
        ),
        Reason(
            "assessment-used",
            "the assessment or a job of the plan was used before, for something else; a job runs once",
            "issue a plan with other ids for its assessment and its jobs",
        ),
        Reason(
            "journal-unusable",
            "the host's state for grading can't be used: it isn't private, is held by another process, or is damaged",
            "name a directory that only this user can reach, and let one process at a time grade under one plan",
        ),
        Reason(
            "document-unreadable",
            "a document is missing, isn't a regular file, or can't be read",
            "check the path and its permissions",
        ),
        Reason(
            "document-invalid",
            "the WorkUnit or the evaluator plan breaks its contract",
            "mend the document at the places that are listed",
        ),
        Reason(
            "manifest-invalid",
            "the worker's result manifest breaks its contract, so that no result could name it",
            "the worker has to hand over a manifest that satisfies ResultManifest 0.1",
        ),
        Reason(
            "binding-drift",
            "the plan is bound to another WorkUnit or source revision than the one given",
            "issue a plan for this WorkUnit; `idkrules digest` prints what to bind to",
        ),
        Reason(
            "validator-set-mismatch",
            "plan, WorkUnit and rule bundle name different sets of required validators",
            "make the three sets equal",
        ),
        Reason(
            "verifier-is-worker",
            "the worker carries the id of the verifier that must be independent of it",
            "have another identity verify",
        ),
        Reason(
            "control-inside-candidate",
            "the WorkUnit, the plan or the rule bundle can be reached through the candidate root",
            "keep control files outside the candidate, each under one name",
        ),
        Reason(
            "output-inside-candidate",
            "the output directory would lie inside the candidate root",
            "write evidence where no worker can write",
        ),
        Reason(
            "output-exists",
            "the output directory exists, and evidence is never overwritten",
            "name a directory that doesn't exist yet",
        ),
        Reason(
            "output-tracked",
            "the output directory would lie in a git working tree that doesn't ignore it",
            "choose a directory outside the working tree, or have its .gitignore ignore it",
        ),
        Reason(
            "output-unwritable",
            "the output directory could not be written whole; nothing was left behind",
            "check the parent directory's permissions and the space on the disk",
        ),
        Reason(
            "tree-not-plain",
            "the tree to be snapshot holds something that a baseline can't describe: a link, a special file, a strange name",
            "take it out of the tree, or leave it out with --ignore",
        ),
        Reason(
            "tree-unseen",
            "not everything in the tree to be snapshot could be seen, so that its baseline would not be complete",
            "check permissions, let nobody write to the tree meanwhile, and try again",
        ),
        Reason(
            "plan-incomplete",
            "a plan can't be made of what was given",
            "give what is listed",
        ),
        Reason(
            "bundle-unknown",
            "no rule bundle of this id is shipped, and no directory of this name holds one",
            "name a shipped bundle or a directory with a bundle.yaml",
        ),
        Reason(
            "bundle-invalid",
            "the rule bundle is wrong",
            "mend the bundle at the places that are listed",
        ),
        Reason(
            "parameters-invalid",
            "the plan's extension gives the rule bundle a parameter that it doesn't take",
            "mend the plan; the bundle's `parameters` say what it takes",
        ),
        Reason(
            "bundle-pin-mismatch",
            "the rule bundle isn't the one that the plan pins",
            "use the pinned bundle, or issue a plan that pins this one",
        ),
        Reason(
            "bundle-unpinned",
            "the plan pins no bundle digest, and a pin was demanded",
            "add the bundle's id and digest to the plan's extensions",
        ),
        Reason(
            "bundle-backend",
            "the rule bundle is written for another backend than the plan's",
            "use a bundle for the plan's backend",
        ),
        Reason(
            "bundle-below-floor",
            "the rule bundle could accept what its backend's floor forbids",
            "add the missing demand at the place that is listed",
        ),
        Reason(
            "result-unreadable",
            "there is no result directory of this name, or a file of it can't be looked at",
            "name a directory that `idkrules evaluate` or `grade` has written, and check its permissions",
        ),
        Reason(
            "result-tampered",
            "the result directory holds what no evaluation writes, so nothing can be said of its decision",
            "run `idkrules replay` to see all that differs, and take the directory from where it was kept safely",
        ),
        Reason(
            "result-undecided",
            "the result directory records a refusal: there is no decision in it",
            "run `idkrules explain` to see the refusal",
        ),
    )
}
