r"""The tail-sensitivity testbed as one tree, its summary, and that in words.

`/draws` has every draw, `value` over (statistic, size, seam, index, draw); the root has what follows from
them: mean, deviation, standard error, and the mean in noise units with its own standard error, also for as
many draws as the original figure has.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.tail_sensitivity import STATISTICS, noise_units

TITLE = "sensitivity of distances between samples to the tail index"

LABELS = {"energy": "energy distance", "wasserstein": "2-Wasserstein distance", "hill": "Hill gap"}

CLEAR = 3.0
"""Standard errors from which on a difference counts as seen."""

_RESAMPLES = 2000

_FEW = 24  # draws of the original figure, against which the growth of the noise unit is measured


def published_draws(size: int) -> int:
    """Draws of a point of the original figure: 24 up to N = 4096, 12 at 16384, 6 at 65536."""
    return 24 if size <= 4096 else 12 if size <= 16384 else 6


def tail_sensitivity_tree(values: Any, options: Mapping[str, Any]) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    values : ndarray, shape (3, sizes, seams, indices, draws)
        Every draw of every statistic.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    indices = np.array(options["indices"])
    reference = int(np.flatnonzero(indices == options["reference"])[0])
    draws = np.array([published_draws(size) for size in options["sizes"]])
    mean, deviation = values.mean(axis=-1), values.std(axis=-1, ddof=1)
    unit = np.median(deviation, axis=-1)
    # of a difference of two independent means; a point and itself differ by nothing
    spread = np.hypot(deviation, deviation[..., [reference]]) / unit[..., None]
    spread[..., reference] = 0.0
    dims = ("statistic", "size", "seam", "index")
    root = xr.Dataset(
        {
            "mean": labelled(dims, mean, "mean over draws"),
            "deviation": labelled(dims, deviation, "standard deviation between draws"),
            "error": labelled(dims, deviation / math.sqrt(values.shape[-1]), "standard error of the mean"),
            "unit": labelled(dims[:-1], unit, r"noise unit $\varsigma$"),
            "noise": labelled(dims, noise_units(mean, deviation, reference), "mean in noise units $z$"),
            "noise_error": labelled(dims, spread / math.sqrt(values.shape[-1]), "standard error of $z$"),
            "published_error": labelled(
                dims,
                spread / np.sqrt(draws)[None, :, None, None],
                "standard error of $z$ with as many draws as the original figure has",
            ),
            "published_draws": labelled("size", draws, "draws of the original figure"),
            "has_mean": labelled(
                ("statistic", "index"),
                [[name == "hill" or a > 1 for a in indices] for name in STATISTICS],
                "the statistic has a finite mean",
            ),
        },
        coords={
            "statistic": labelled("statistic", list(STATISTICS), "statistic"),
            "size": labelled("size", options["sizes"], "points of a sample $N$"),
            "seam": labelled("seam", options["seams"], "quantile of the seam $q_0$"),
            "index": labelled("index", indices, r"tail index $a_*$"),
        },
    )
    every = xr.Dataset({"value": labelled((*dims, "draw"), values, "statistic of one pair of samples")})
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    return measurement("tail-sensitivity", TITLE, {"/": root, "/draws": every}, listed)


def tail_sensitivity_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What the testbed shows, as plain JSON values.

    Returns
    -------
    dict
        `reference`, `draws`, and `points`, one for each statistic, size and seam: `minimum`, the index with
        the least mean; `lighter` and `heavier`, the indices above and below the reference whose mean differs
        from that of the reference by `CLEAR` standard errors or more, and the same for as many draws as the
        original figure has in `lighter_published` and `heavier_published`; `unit`, the noise unit; and
        `published_share`, the share of figures with so many draws, resampled from these, that have the least
        mean at the reference.
        `unit_growth`: by statistic, the median of the noise unit over that of the first 24 draws (None with
        fewer than 48 draws); a statistic with a variance has 1. `unconverged`, always empty.
    """
    data, every = tree.to_dataset(), tree["draws"].to_dataset()["value"]
    a, reference = data["index"].values, tree.attrs["reference"]
    points = []
    for name in data["statistic"].values.tolist():
        for size in data["size"].values.tolist():
            for seam in data["seam"].values.tolist():
                one = data.sel(statistic=name, size=size, seam=seam)
                noise = np.abs(one["noise"].values)
                found = {}
                for suffix, error in (("", "noise_error"), ("_published", "published_error")):
                    seen = (a != reference) & (noise >= CLEAR * one[error].values)
                    found["lighter" + suffix] = a[seen & (a > reference)].tolist()
                    found["heavier" + suffix] = a[seen & (a < reference)].tolist()
                least = float(a[int(np.argmin(one["mean"].values))])
                points.append(
                    {"statistic": name, "size": size, "seam": seam, "minimum": least}
                    | found
                    | {"unit": float(one["unit"])}
                    | {"published_share": _share(every.sel(statistic=name, size=size, seam=seam), one)}
                )
    return {
        "reference": reference,
        "draws": every.sizes["draw"],
        "points": points,
        "unit_growth": _unit_growth(data, every) if every.sizes["draw"] >= 2 * _FEW else None,
        "unconverged": [],
    }


def tail_sensitivity_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    seams = sorted({point["seam"] for point in summary["points"]})
    reference = summary["reference"]
    width = min(12, 56 // len(seams))
    head = "".join(f"{f'q0 = {seam:g}':>{width}}" for seam in seams)
    lines = [
        f"{summary['draws']} draws a point; index of the least mean (the reference is {reference:g}),",
        f"then how many lighter+heavier tails are {CLEAR:g} standard errors away",
    ]
    for name, label in LABELS.items():
        lines += ["", f"{label:<24}{head}"]
        for size in sorted({point["size"] for point in summary["points"]}):
            cells = [
                f"{point['minimum']:g} ({len(point['lighter'])}+{len(point['heavier'])})"
                for point in summary["points"]
                if (point["statistic"], point["size"]) == (name, size)
            ]
            lines.append(f"  N = {size:<18}" + "".join(f"{cell:>{width}}" for cell in cells))
    largest = max(point["size"] for point in summary["points"])
    lines += ["", f"with the draws of the original figure, the least mean at N = {largest} is that of"]
    lines.append(f"{reference:g} in so many of resampled figures:")
    for name, label in LABELS.items():
        cells = [
            f"{point['published_share']:.0%}"
            for point in summary["points"]
            if (point["statistic"], point["size"]) == (name, largest)
        ]
        lines.append(f"  {label:<22}" + "".join(f"{cell:>{width}}" for cell in cells))
    if summary["unit_growth"]:
        growth = ", ".join(f"{LABELS[name]} {value:.2f}" for name, value in summary["unit_growth"].items())
        lines += ["", f"noise unit of all draws over that of the first {_FEW} (1 with a variance):"]
        lines.append(f"  {growth}")
    return lines


def _share(values: xr.DataArray, point: xr.Dataset) -> float:
    """Share of resampled figures, with the original number of draws, with the least mean at the reference."""
    generator = np.random.default_rng(0)
    shape = (_RESAMPLES, int(point["published_draws"]))
    draws = values.transpose("index", "draw").values
    means = [row[generator.integers(row.size, size=shape)].mean(axis=1) for row in draws]
    reference = int(np.flatnonzero(point["noise_error"].values == 0)[0])
    return float(np.mean(np.argmin(means, axis=0) == reference))


def _unit_growth(data: xr.Dataset, values: xr.DataArray) -> dict[str, float]:
    few = values.isel(draw=slice(_FEW)).std("draw", ddof=1).median("index")
    ratio = (data["unit"] / few).median(("size", "seam"))
    return {str(name): float(ratio.sel(statistic=name)) for name in data["statistic"].values}
