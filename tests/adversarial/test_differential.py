"""Real appliers against the reader, over generated patches; longer by hand: `python -m tests.adversarial.fuzz`."""

import shutil

import pytest

from tests.adversarial.fuzz import fuzz

pytestmark = pytest.mark.skipif(not shutil.which("patch") or not shutil.which("git"), reason="needs git and GNU patch")


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 4000, 1000))
def test_no_applier_touches_a_path_that_was_not_told(first):
    outcome = fuzz(20240101, 1000, first=first)
    assert outcome.findings == []
    assert outcome.made == 1000
    assert outcome.accepted > 150, "the generator makes too few patches that are accepted"
    assert outcome.applied["both"] > 100, "the appliers take too few of them"
    assert len(outcome.refused) > 8, "the generator reaches too few reasons"
