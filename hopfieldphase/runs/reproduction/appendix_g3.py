"""Appendix G.3: trained Transformers at other temperatures, judged by three training seeds.

Maps are compared on the same examples, seed by seed; a comparison counts with Student's t at 95 %.
"""

from collections.abc import Mapping

from hopfieldphase.data.temperature import key_statistics
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, verdict
from hopfieldphase.runs.reproduction.trained import (
    MAPS,
    counts,
    in_words,
    judged,
    list_of,
    numbers_of,
    pair_verdicts,
    result,
    verdicts,
)

PERFECT = 0.99
"""Accuracy that counts as perfect: one example in a hundred may fail."""


@claim(
    "figure-14a-frozen-selective",
    "Appendix G.3, Figure 14(a)",
    r"Trained at $\beta = 1$ and used at high $\beta$, sparsemax has the highest accuracy, which saturates.",
    "hopfieldphase figures 14",
)
def frozen_selective() -> Finding:
    """Comparisons at β ≥ 1, and the change between the two highest β."""
    accuracy = result(14, "selective")["value_correct"].sel(protocol="frozen")
    high = accuracy.sel(beta=accuracy["beta"] >= 1)
    found = pair_verdicts(high, [("sparsemax", other) for other in ("softmax", "entmax-1.5")])
    last = high.isel(beta=-1)
    change = float(abs(high.isel(beta=-1) - high.isel(beta=-2)).mean("seed").max())
    return Finding(
        judged(found) if change < 1 - PERFECT else Verdict.FAILS,
        rf"For $\beta \ge 1$ {in_words(found)}. Accuracy at $\beta$ = {float(last['beta']):g}: "
        f"{list_of(last)}; it changes by {change:.3f} at most from the last β but one.",
        counts(found) | {"change": change} | numbers_of(last),
    )


@claim(
    "figure-14b-frozen-support",
    "Appendix G.3, Figure 14(b)",
    r"Sparsemax uses the least effective support; at high $\beta$ all maps select single memories.",
    "hopfieldphase figures 14",
)
def frozen_support() -> Finding:
    """1/Σp² compared at every β, and at the highest."""
    effective = result(14, "selective")["ipr"].sel(protocol="frozen")
    found = pair_verdicts(effective, [(other, "sparsemax") for other in ("softmax", "entmax-1.5")])
    last = effective.isel(beta=-1)
    single = float(last.sel(map=list(MAPS)).mean("seed").max()) < 1.5
    return Finding(
        judged(found) if single else Verdict.FAILS,
        rf"{in_words(found)}. $1/\Sigma p^2$ at $\beta$ = {float(last['beta']):g}: {list_of(last, 2)}.",
        counts(found) | numbers_of(last),
    )


@claim(
    "figure-14c-frozen-aggregation",
    "Appendix G.3, Figure 14(c, d)",
    r"Frozen models aggregate worse as $\beta$ grows, far worse than the output zero at high $\beta$.",
    "hopfieldphase figures 14",
)
def frozen_uniform() -> Finding:
    """The error from β = 1 on, and the effective support in units of the cluster."""
    data = result(14, "uniform").sel(protocol="frozen", map=list(MAPS))
    high = data.sel(beta=data["beta"] >= 1)
    rising = verdicts(high["relative_error"].isel(beta=-1) - high["relative_error"].isel(beta=0))
    shrinking = verdicts(high["ipr_ratio"].isel(beta=0) - high["ipr_ratio"].isel(beta=-1))
    last = high["relative_error"].isel(beta=-1)
    least = float(last.mean("seed").min())
    best = data["relative_error"].mean("seed").idxmin("beta")
    words = ", ".join(f"{name} {float(best.sel(map=name)):g}" for name in MAPS)
    return Finding(
        judged(rising + shrinking) if least > 1 else Verdict.FAILS,
        rf"From $\beta = 1$ to {float(last['beta']):g}: error up {in_words(rising)}, support down "
        rf"{in_words(shrinking)}; error over that of the output zero {list_of(last, 2)}. The least error is "
        rf"at $\beta$ = {words}.",
        {"least-error": least} | counts(rising + shrinking),
    )


@claim(
    "figure-15a-matched-selective",
    "Appendix G.3, Figure 15(a)",
    r"Trained at the $\beta$ of use, all three maps retrieve one memory perfectly.",
    "hopfieldphase figures 15",
)
def matched_selective() -> Finding:
    """The accuracy of all maps at all β."""
    accuracy = result(15, "selective")["value_correct"].sel(protocol="matched", map=list(MAPS)).mean("seed")
    perfect = accuracy >= PERFECT
    share = perfect.mean("beta")
    words = ", ".join(f"{name} at {int(perfect.sel(map=name).sum())}" for name in MAPS)
    least = accuracy.min("beta")
    lows = ", ".join(f"{name} {float(least.sel(map=name)):.3f}" for name in MAPS)
    return Finding(
        verdict(bool(perfect.all())),
        f"An accuracy of {PERFECT} or more: {words} of {accuracy.sizes['beta']} temperatures; lowest {lows}.",
        {name: float(share.sel(map=name)) for name in MAPS}
        | {f"least-{name}": float(least.sel(map=name)) for name in MAPS},
    )


@claim(
    "figure-15b-matched-support",
    "Appendix G.3, Figure 15(b)",
    "Sparsemax and entmax-1.5 need less effective support than softmax for one memory.",
    "hopfieldphase figures 15",
)
def matched_support() -> Finding:
    """1/Σp² of both against softmax at every β."""
    effective = result(15, "selective")["ipr"].sel(protocol="matched")
    found = pair_verdicts(effective, [("softmax", sparse) for sparse in ("entmax-1.5", "sparsemax")])
    return Finding(judged(found), f"Over all β {in_words(found)}.", counts(found))


@claim(
    "figure-15c-matched-aggregation",
    "Appendix G.3, Figure 15(c)",
    "Softmax aggregates with the least error of the three.",
    "hopfieldphase figures 15",
)
def matched_uniform() -> Finding:
    """The error of both others against softmax at every β."""
    error = result(15, "uniform")["relative_error"].sel(protocol="matched")
    found = pair_verdicts(error, [(other, "softmax") for other in ("entmax-1.5", "sparsemax")])
    mean = error.mean("beta")
    return Finding(
        judged(found),
        f"Over all β {in_words(found)}. Mean over β of the error over that of the output zero: "
        f"{list_of(mean)}.",
        counts(found) | numbers_of(mean),
    )


@claim(
    "figure-15d-matched-broad",
    "Appendix G.3, Figure 15(d)",
    "The effective support of softmax stays broader than the cluster that is asked for.",
    "hopfieldphase figures 15",
)
def matched_broad() -> Finding:
    """The support in units of the cluster, at every β."""
    ratio = result(15, "uniform")["ipr_ratio"].sel(protocol="matched", map="softmax")
    found = verdicts(ratio - 1)
    mean = ratio.mean("seed")
    return Finding(
        judged(found),
        rf"At the twelve β {in_words(found)}; $1/(|R|\,\Sigma p^2)$ from {float(mean.min()):.2f} to "
        f"{float(mean.max()):.2f}.",
        counts(found) | {"least": float(mean.min()), "largest": float(mean.max())},
    )


@claim(
    "trained-heads-and-coexistence",
    "Appendix G.3, beyond the paper",
    "The distance from the coexistence of the minima of its keys predicts what a frozen model loses.",
    "hopfieldphase figures 14",
)
def trained_keys() -> Finding:
    """Rank correlations with a bootstrap over whole models, for both tasks."""
    numbers, words, excluded = {}, [], []
    for task in ("selective", "uniform"):
        found = key_statistics(result(14, task), task)
        for name, beta, share in zip(MAPS, found["coexistence"], found["trained_inside"], strict=True):
            if beta is not None:
                numbers[f"{task}-coexistence-{name}"] = beta
            numbers[f"{task}-inside-{name}"] = share
        inside = ", ".join(f"{100 * share:.0f} %" for share in found["trained_inside"])
        correlation = found["rank_correlation"]["absolute"]
        if correlation is None:
            excluded.append(False)
            continue
        numbers |= {f"{task}-{key}": value for key, value in correlation.items()}
        with_sign = found["rank_correlation"]["signed"]
        excluded.append(correlation["low"] > 0)
        words.append(
            f"{task}: {inside} of the heads (by growing α) work at β = 1 where minima coexist; rank "
            f"correlation {_interval(correlation)}, with the sign of the distance {_interval(with_sign)}"
        )
    return Finding(
        verdict(all(excluded), Verdict.SCANNED if any(excluded) else Verdict.FAILS),
        "; ".join(words) + ".",
        numbers,
    )


def _interval(found: Mapping[str, float]) -> str:
    return f"{found['value']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"


CLAIMS = (
    frozen_selective, frozen_support, frozen_uniform, matched_selective, matched_support, matched_uniform,
    matched_broad, trained_keys,
)  # fmt: skip
