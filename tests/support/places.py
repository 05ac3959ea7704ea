"""Where the repository and the shared material are. Tests that need the latter skip when it is absent, and say so."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"


def shared(*parts: str) -> Path:
    """A path below the shared material (IDKRULES_SHARED, else beside the repository); skips the test if it isn't there."""
    base = Path(os.environ.get("IDKRULES_SHARED") or ROOT.parent / "shared")
    path = base.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the shared material is absent: {'/'.join(parts)} (set IDKRULES_SHARED to its directory)")
    return path
