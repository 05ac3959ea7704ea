"""`idkrules self-test`: the safety suite on data that the package carries."""

from idkmesh_rules.cli.options import Format, OutputFormat


def self_test(output_format: OutputFormat = Format.TEXT) -> int:
    """Run the safety suite that this installation carries."""
    import json

    from idkmesh_rules.cli.exits import CLEAN, PROBLEM
    from idkmesh_rules.cli.output import emit
    from idkmesh_rules.pipeline.selftest import run_self_test

    outcomes = run_self_test()
    code = CLEAN if outcomes and all(outcome.passed for outcome in outcomes) else PROBLEM
    if output_format is Format.JSON:
        return emit(json.dumps([outcome.as_json() for outcome in outcomes], indent=2), code)
    lines = [
        f"{'ok  ' if outcome.passed else 'FAIL'}  {outcome.case}: {outcome.observed}"
        + ("" if outcome.passed else f"  (expected {outcome.expected})")
        for outcome in outcomes
    ]
    passed = sum(outcome.passed for outcome in outcomes)
    return emit("\n".join([*lines, f"{passed} of {len(outcomes)} cases came out for the expected reason"]), code)
