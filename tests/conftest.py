"""What several test folders share."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def reference_values() -> dict[str, Any]:
    """Values computed with 40 digits and rounded to doubles; the file's note says how."""
    return json.loads((Path(__file__).parent / "reference" / "values.json").read_text(encoding="utf-8"))
