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


@pytest.mark.fuzz
def test_git_am_touches_no_path_that_was_not_told():
    outcome = fuzz(20240101, 400, mails=True)
    assert outcome.findings == []
    assert outcome.accepted > 40, "the generator makes too few mails that are accepted"
    assert outcome.applied["git am"] > 20, "git am takes too few of them"
    assert outcome.refused["prose"] > 100, "the generator makes too few mails that could be read otherwise"
