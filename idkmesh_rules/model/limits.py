"""Every bound of a run in one frozen object, so that nothing is bounded twice or forgotten.

Source of the defaults: design contracts (*Strict JSON*) and patch-grammar (rule 10).
"""

from typing import NamedTuple

MEBIBYTE = 2**20


class Limits(NamedTuple):
    """Bounds of one evaluation. Sizes are bytes, depths are levels of nesting, the rest are counts.

    The `record_` bounds are those of a finished result directory: bytes of each file, entries, and levels of its JSON.
    `candidate_bytes` bounds what is read of all declared files together; those behind it are unknown. `tree_path_bytes`
    bounds the paths of a tree together, and so its depth; `tree_facts` how many facts of a kind are told of it.
    `graded_bytes` bounds a candidate that is run, `evaluator_bytes` each file of the verifier's that a job gets.
    """

    document_bytes: int = 4 * MEBIBYTE
    plan_bytes: int = 256 * MEBIBYTE
    bundle_bytes: int = MEBIBYTE
    json_depth: int = 64
    problems: int = 100
    findings_per_condition: int = 100
    second_opinion_bytes: int = MEBIBYTE
    link_search_entries: int = 200_000
    candidate_bytes: int = 4 * 2**30
    record_bytes: int = 256 * MEBIBYTE
    record_entries: int = 10_000
    record_depth: int = 128
    answer_bytes: int = 64 * MEBIBYTE
    answer_entries: int = 10_000
    differences: int = 100
    graded_bytes: int = 64 * MEBIBYTE
    evaluator_bytes: int = 16 * MEBIBYTE
    tree_entries: int = 2_000_000
    tree_facts: int = 200_000
    tree_path_bytes: int = 256 * MEBIBYTE
    tree_bytes: int = 32 * 2**30
    patch_bytes: int = 64 * MEBIBYTE
    patch_files: int = 200_000
    patch_hunks: int = 1_000_000
    patch_line_bytes: int = 16 * MEBIBYTE
    patch_name_bytes: int = 4_096
