"""What all studies of trained Transformers have: observables, means with standard errors, and comparisons."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.stats
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.data.measurement import labelled

Array = NDArray[np.float64]

LEVEL = 0.95
"""One-sided level at which a difference counts: Student's t over the training seeds."""

_BOTH = {
    "relative_error": r"error / zero-output baseline $E_{\mathrm{rel}}$",
    "ipr": r"effective support $1/\Sigma p^2$",
    "ipr_ratio": r"effective support / $|R|$",
    "support_size": r"support size $|\mathrm{supp}(p)|$",
    "relevant_weight": r"attention on the relevant memories",
}
OBSERVABLES = {"selective": {"value_correct": r"value top-1 accuracy"} | _BOTH, "uniform": _BOTH}

RELIABILITY = {"selective": ("value_correct", 1), "uniform": ("relative_error", -1)}
"""What reliability means in each task, and whether more of it is better (1) or worse (−1)."""

ASKED = {"selective": "one memory", "uniform": "the mean of a cluster"}


def shared_coordinates(maps: Sequence[str], alphas: Sequence[float], seeds: Sequence[int]) -> dict[str, Any]:
    """The coordinates map, alpha(map) and seed."""
    return {
        "map": labelled("map", list(maps), "attention map"),
        "alpha": labelled("map", alphas, r"Tsallis index $\alpha$"),
        "seed": labelled("seed", seeds, "training seed"),
    }


def means(found: Mapping[str, Array], texts: Mapping[str, str], dims: tuple[str, ...]) -> dict[str, Any]:
    """Means over the examples, the last axis, each with its standard error as a variable beside it."""
    variables = {}
    for name, text in texts.items():
        values = found[name]
        error = values.std(axis=-1, ddof=1) / math.sqrt(values.shape[-1])
        variables[name] = labelled(dims, values.mean(axis=-1), text)
        variables[f"{name}_error"] = labelled(dims, error, f"standard error of: {text}")
    return variables


def over_seeds(data: xr.DataArray) -> tuple[Array, Array]:
    """Mean over the seeds and its standard error, NaN for a single seed."""
    count = data.sizes["seed"]
    spread = data.std("seed", ddof=1).values if count > 1 else np.full(data.isel(seed=0).shape, np.nan)
    return np.asarray(data.mean("seed").values), spread / math.sqrt(count)


def compared(differences: Array) -> dict[str, Any]:
    """Whether differences, one for each seed, are positive: "holds", "opposite" or "undecided".

    Models of one seed see the same examples, so that their differences are paired. The verdict is that of
    Student's t at `LEVEL`; a single seed decides nothing, and neither do equal values.
    """
    n = len(differences)
    mean = float(differences.mean())
    if n < 2:
        return {"difference": mean, "error": None, "verdict": "undecided"}
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    bound = float(scipy.stats.t.ppf(LEVEL, n - 1)) * error
    verdict = "undecided" if abs(mean) <= bound else ("holds" if mean > 0 else "opposite")
    return {"difference": mean, "error": error, "verdict": verdict}


def plain(values: Any) -> Any:
    """Numbers as (nested) lists for JSON, with None for what is not finite."""
    return [plain(x) if np.ndim(x) else (float(x) if np.isfinite(x) else None) for x in np.asarray(values)]


def with_error(mean: float | None, error: float | None, digits: int = 3) -> str:
    """A number with its standard error, where there is one; "-" where there is no number."""
    if mean is None:
        return "-"
    if error is None or not math.isfinite(error):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"
