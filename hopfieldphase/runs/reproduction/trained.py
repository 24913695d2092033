"""What the claims about trained Transformers share: the committed results, and paired comparisons of maps."""

from collections.abc import Iterable
from functools import cache

import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.trained import compared
from hopfieldphase.runs.library import shipped_results
from hopfieldphase.runs.reproduction.record import Verdict

MAPS = ("softmax", "entmax-1.5", "sparsemax")
"""The maps of Appendix G.2, by growing index."""


@cache
def result(number: int, task: str) -> xr.Dataset:
    """The committed result of a figure, for one task."""
    name = f"figure-{number}"
    files = shipped_results()
    if name not in files:
        raise InputError(f"the result of {name} is not installed: install hopfieldphase again")
    tree = store.open(files[name])
    assert isinstance(tree, xr.DataTree)
    return tree[task].to_dataset()


def differences(data: xr.DataArray, pairs: Iterable[tuple[str, str]]) -> list[xr.DataArray]:
    """For each pair of maps (larger, smaller), by how much the first exceeds the second."""
    return [data.sel(map=larger) - data.sel(map=smaller) for larger, smaller in pairs]


def pair_verdicts(data: xr.DataArray, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """For each pair of maps and every point of a grid, whether the first is larger over the seeds."""
    return [verdict for difference in differences(data, pairs) for verdict in verdicts(difference)]


def verdicts(differences: xr.DataArray) -> list[str]:
    """For every point of a grid, whether differences (…, seed) are positive over the seeds."""
    flat = differences.transpose(..., "seed").values.reshape(-1, differences.sizes["seed"])
    return [compared(row)["verdict"] for row in flat]


def holds_from(known: list[xr.DataArray], grid: str) -> float | None:
    """The smallest M (or β) from which on all differences are positive over the seeds; None where none is."""
    points = known[0][grid].values
    first = None
    for k in reversed(range(points.size)):
        if any(compared(here.isel({grid: k}).values)["verdict"] != "holds" for here in known):
            break
        first = float(points[k])
    return first


def judged_from(found: Iterable[str], first: float | None) -> Verdict:
    """As `judged`, but what holds from some load (or β) on is a reading of the text."""
    verdict = judged(found)
    return Verdict.READING if verdict is Verdict.FAILS and first is not None else verdict


def judged(found: Iterable[str]) -> Verdict:
    """All comparisons hold; or one is the other way round; or the seeds do not decide some."""
    seen = set(found)
    if seen == {"holds"}:
        return Verdict.HOLDS
    return Verdict.FAILS if "opposite" in seen else Verdict.READING


def counts(found: list[str]) -> dict[str, float]:
    """How many comparisons hold, are opposite, and are undecided."""
    return {name: float(found.count(name)) for name in ("holds", "opposite", "undecided")}


def in_words(found: list[str]) -> str:
    """The same in words."""
    return (
        f"{found.count('holds')} of {len(found)} hold, {found.count('opposite')} are opposite, "
        f"{found.count('undecided')} undecided"
    )


def numbers_of(data: xr.DataArray) -> dict[str, float]:
    """Means over the seeds of the three maps, by name."""
    mean = data.mean("seed")
    return {name: float(mean.sel(map=name)) for name in MAPS}


def list_of(data: xr.DataArray, digits: int = 3) -> str:
    """The same in words."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in numbers_of(data).items())
