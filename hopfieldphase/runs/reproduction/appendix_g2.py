"""Appendix G.2: capacity and reliability of trained Transformers, judged by three training seeds.

Maps are compared on the same examples, seed by seed; a comparison counts with Student's t at 95 %.
"""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim
from hopfieldphase.runs.reproduction.trained import (
    MAPS,
    counts,
    differences,
    holds_from,
    in_words,
    judged,
    judged_from,
    list_of,
    numbers_of,
    pair_verdicts,
    result,
    verdicts,
)


@claim(
    "figure-12a-sparsemax-best",
    "Appendix G.2, Figure 12(a)",
    "Asked for one memory, sparsemax has the highest value top-1 accuracy, softmax the lowest.",
    "hopfieldphase figures 12",
)
def selective_order() -> Finding:
    """Sparsemax against both others, and entmax against softmax, at every load."""
    pairs = (("sparsemax", "softmax"), ("sparsemax", "entmax-1.5"), ("entmax-1.5", "softmax"))
    return _order(result(12, "selective")["value_correct"], pairs, "Accuracy", 3)


@claim(
    "figure-12a-capacity-trade-off",
    "Appendix G.2, Figure 12(a)",
    "The accuracy of every map falls as the memory load grows.",
    "hopfieldphase figures 12",
)
def selective_trade_off() -> Finding:
    """Smallest against largest load, and every load against the next."""
    accuracy = result(12, "selective")["value_correct"].sel(map=list(MAPS))
    ends = verdicts(accuracy.isel(M=0) - accuracy.isel(M=-1))
    steps = accuracy.mean("seed").diff("M").values
    return Finding(
        judged(ends),
        f"From M = {int(accuracy['M'][0])} to {int(accuracy['M'][-1])}: {in_words(ends)} for the three maps; "
        f"{int((steps <= 0).sum())} of {steps.size} doublings lower the mean accuracy or leave it.",
        counts(ends) | {"falling": float((steps <= 0).sum()), "steps": float(steps.size)},
    )


@claim(
    "figure-12b-support",
    "Appendix G.2, Figure 12(b)",
    "Softmax keeps full support; sparsemax uses the least.",
    "hopfieldphase figures 12",
)
def selective_support() -> Finding:
    """Exact supports, and effective ones compared."""
    return _support("selective", 12)


@claim(
    "figure-13a-softmax-best",
    "Appendix G.2, Figure 13(a)",
    "Asked for the mean of a cluster, softmax has the least error, sparsemax the largest.",
    "hopfieldphase figures 13",
)
def uniform_order() -> Finding:
    """Softmax against both others, and sparsemax against entmax, at every load."""
    pairs = (("sparsemax", "softmax"), ("entmax-1.5", "softmax"), ("sparsemax", "entmax-1.5"))
    return _order(result(13, "uniform")["relative_error"], pairs, "Error over that of the output zero", 2)


@claim(
    "figure-13a-capacity-trade-off",
    "Appendix G.2, Figure 13(a)",
    "The relative error of every map grows with the memory load.",
    "hopfieldphase figures 13",
)
def uniform_trade_off() -> Finding:
    """Smallest against largest load."""
    error = result(13, "uniform")["relative_error"].sel(map=list(MAPS))
    found = verdicts(error.isel(M=-1) - error.isel(M=0))
    crossing = {
        name: next((int(M) for M in error["M"].values if here.sel(M=M) > 1), 0)
        for name in MAPS
        for here in (error.sel(map=name).mean("seed"),)
    }
    words = ", ".join(f"{name} {f'from M = {M}' if M else 'nowhere'}" for name, M in crossing.items())
    return Finding(
        judged(found),
        f"{in_words(found)} for the three maps. Worse than the output zero: {words}.",
        counts(found) | {f"worse-than-zero-{name}": float(M) for name, M in crossing.items()},
    )


@claim(
    "figure-13b-support",
    "Appendix G.2, Figure 13(b)",
    "In aggregation too, softmax keeps full support and sparsemax uses the least.",
    "hopfieldphase figures 13",
)
def uniform_support() -> Finding:
    """Exact supports, and effective ones compared."""
    return _support("uniform", 13)


def _order(data: xr.DataArray, pairs: Iterable[tuple[str, str]], what: str, digits: int) -> Finding:
    """Pairs of maps (larger, smaller), compared at every load."""
    known = differences(data, pairs)
    found = [verdict for difference in known for verdict in verdicts(difference)]
    first, last = holds_from(known, "M"), data.isel(M=-1)
    where = "they never hold all" if first is None else f"from M = {first:g} on all hold"
    return Finding(
        judged_from(found, first),
        f"Of the three comparisons at each load {in_words(found)}; {where}. {what} at M = {int(last['M'])}: "
        f"{list_of(last, digits)}.",
        counts(found) | {"from": first or 0.0} | numbers_of(last),
    )


def _support(task: str, number: int) -> Finding:
    data = result(number, task)
    full = data["support_size"].sel(map="softmax") / data["M"]
    found = pair_verdicts(data["ipr"], [(other, "sparsemax") for other in ("softmax", "entmax-1.5")])
    judgement = judged(found) if float(full.min()) > 1 - 1e-3 else Verdict.FAILS
    last = data["support_size"].isel(M=-1)
    return Finding(
        judgement,
        f"Softmax gives weight to {100 * float(full.min()):.1f} % of the memories or more (in float32 some "
        f"weights are zero). Sparsemax has the smallest 1/Σp²: {in_words(found)}. Exact support at "
        f"M = {int(last['M'])}: {list_of(last, 1)}.",
        counts(found) | {"full": float(full.min())},
    )


@claim(
    "length-scaled-maps-extrapolate",
    "Appendix G.2, beyond the paper",
    "Scaled with the number of memories, maps keep their accuracy at 64 times the load of the training.",
    "hopfieldphase figures 12",
)
def scaled_maps() -> Finding:
    """Accuracy at the largest load over that at M = 64, of each scaled map beside the one it scales."""
    accuracy = result(12, "selective")["value_correct"]
    kept = accuracy.isel(M=-1) / accuracy.sel(M=64)
    pairs = (("scalable-softmax", "softmax"), ("asentmax", "entmax-1.5"))
    found = pair_verdicts(kept, pairs)
    numbers = {str(name): float(kept.sel(map=name).mean("seed")) for name in kept["map"].values}
    words = ", ".join(f"{name} {value:.3f}" for name, value in numbers.items())
    return Finding(
        judged(found),
        f"Accuracy at M = {int(accuracy['M'][-1])} over that at 64: {words}. Each scaled map keeps more than "
        f"the map that it scales: {in_words(found)}.",
        counts(found) | {name: value for name, value in numbers.items() if np.isfinite(value)},
    )


CLAIMS = (
    selective_order, selective_trade_off, selective_support,
    uniform_order, uniform_trade_off, uniform_support, scaled_maps,
)  # fmt: skip
