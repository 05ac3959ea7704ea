"""What several conformance tests start from."""

import shutil
from pathlib import Path

import pytest

from tests.support.results import FORBIDDEN, fixture_result


@pytest.fixture(scope="module")
def rejected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a rejected candidate, not to be changed."""
    output = tmp_path_factory.mktemp("rejected") / "out"
    fixture_result(FORBIDDEN, output)
    return output


@pytest.fixture
def result(rejected: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(rejected, tmp_path / "result"))
