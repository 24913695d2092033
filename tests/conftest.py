"""What several test folders share."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from hopfieldphase.continuation.sweep import Sweep

# The same examples in every run, and no time limit on any of them.
settings.register_profile("reproducible", deadline=None, derandomize=True)
settings.load_profile("reproducible")


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Let go of the figures of a test where pyplot, once it is loaded, would keep them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def reference_values() -> dict[str, Any]:
    """Values computed with 40 digits and rounded to doubles; the file's note says how."""
    return json.loads((Path(__file__).parent / "reference" / "values.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def make_sweep() -> Callable[..., Sweep]:
    """Sweeps with a loop at known places: z_max is 0.2 or 0.4, and 0.4 is `saturation`."""

    def make(
        lower: float = 4.0,
        upper: float = 7.0,
        *,
        points: int = 11,
        components: int | None = None,
        **changes: Any,
    ) -> Sweep:
        values = np.arange(1.0, points + 1)
        # Both states exist from `lower` to `upper`: up stays low through it, down stays high.
        high = np.array([values > upper, values >= lower])
        overlap = np.where(high, 0.4, 0.2)
        jumped = np.zeros((2, points), dtype=bool)
        jumped[0, 1:], jumped[1, :-1] = np.diff(high[0]), np.diff(high[1])
        table = {
            "overlap_max": overlap,
            "support_size": np.where(high, 1, 30),
            "ipr": np.where(high, 1.0, 25.5),
            "threshold_count": np.where(high, 1, 0),
            "free_energy": -values * overlap,
            "hessian_min": np.where(high, 1.0, 0.5),
            "residual": np.full((2, points), 1e-15),
            "status": np.zeros((2, points), dtype=np.int8),
            "jumped": jumped,
            "n_steps": np.full((2, points), 3),
            "state": None if components is None else np.ones((2, points, components)) * overlap[..., None],
        }
        rest = {
            "parameter": "beta", "values": values, "saturation": 0.4, "start_up": "mean",
            "start_down": "pattern:0", "pattern_norms": (1.0, 1.0), "duplicates": 0,
        }  # fmt: skip
        return Sweep(**(table | rest | changes))

    return make
