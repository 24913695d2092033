r"""The heads of a checkpoint as one tree, its summary, that in words, and their keys as pattern files.

The root has what the keys and the attention of each head are like, over (layer, head); `/phases` has the
critical points over (layer, head, alpha), and the minima that the queries reach over a further axis `at`.
"""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import hopfieldphase
from hopfieldphase.data import attributes
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.data.provenance import git_revision

TITLE = "attention heads of a checkpoint"

_HEADS = ("layer", "head")
_PHASES = (*_HEADS, "alpha")
_REACHED = (*_PHASES, "at")

STATISTICS = {
    "key_norm": r"mean key norm $\langle |k| \rangle$",
    "key_norm_min": r"smallest key norm $\min |k|$",
    "key_norm_max": r"largest key norm $\max |k|$",
    "query_norm": r"mean query norm $\langle |q| \rangle$",
    "cosine": r"mean cosine of two keys $\langle \cos(k, k') \rangle$",
    "cosine_max": r"largest cosine of two keys $\max \cos(k, k')$",
    "cosine_repeated": r"mean cosine of the keys of one token $\langle \cos(k, k') \rangle_{\mathrm{same}}$",
    "common_share": r"share of the mean key $|\langle k \rangle|^2 / \langle |k|^2 \rangle$",
    "coupling": r"coupling $K = s^2 (\langle |k|^2 \rangle - \langle k \cdot k' \rangle)$ at $\beta = 1$",
    "duplicates": r"keys that equal another one",
    "storable": r"keys that some $\beta$ stores exactly",
    "attention_ipr": r"attention $\langle 1/\Sigma p^2 \rangle$",
    "attention_ipr_min": r"sharpest attention $\min\, 1/\Sigma p^2$",
}
PHASES = {
    "storage": r"first exact storage $\beta_{\mathrm{store}}$",
    "storage_all": r"last exact storage $\beta_{\mathrm{all}}$",
    "second_minimum": r"second minimum $\beta_2$",
    "coexistence": r"first coexistence $\beta_{\mathrm{co}}$",
    "instability": r"end of the low-$\beta$ state $\beta_{\mathrm{inst}}$",
    "equidistant": r"spinodal of equidistant keys $\beta_{\mathrm{eq}}$",
    "onset": r"onset $\beta_{\mathrm{on}}$",
    "reference": r"reference of the search $\beta_0$",
    "minima": r"minima at $\beta_0$",
}
REACHED = {
    "betas": r"inverse temperature $\beta$",
    "states": r"minima that the queries reach",
    "ipr": r"mean $1/\Sigma p^2$ of the minima reached",
    "undecided": r"queries that reached no verified minimum",
}


class At(StrEnum):
    """Where queries are relaxed: the two readings of a repeated attention step, and above the onset."""

    STATE = "beta = 1"
    KEY = "beta = sqrt(d)"
    ONSET = "1.01 onset"


def heads_tree(
    layers: Sequence[int],
    heads: Sequence[int],
    found: Mapping[tuple[int, int], tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]],
    tokens: Sequence[str],
    head_dimension: int,
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    layers, heads : sequence of int
        Which of the model.
    found : mapping
        For each (layer, head) the values of `STATISTICS`, and for each α those of `PHASES` and `REACHED`.
    tokens : sequence of str
    head_dimension : int
        d.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    alphas = list(options["alphas"])
    order = [(layer, head) for layer in layers for head in heads]

    def over_heads(values: list[Any]) -> NDArray[Any]:
        array = np.array(values)
        return array.reshape(len(layers), len(heads), *array.shape[1:])

    coords = {
        "layer": labelled("layer", list(layers), "layer"),
        "head": labelled("head", list(heads), "head"),
    }
    root = {
        name: labelled(_HEADS, over_heads([found[at][0][name] for at in order]), label)
        for name, label in STATISTICS.items()
    }
    root["token"] = labelled("position", list(tokens), "token")
    phases = {
        name: labelled(dims, over_heads([[row[name] for row in found[at][1]] for at in order]), label)
        for dims, names in ((_PHASES, PHASES), (_REACHED, REACHED))
        for name, label in names.items()
    }
    axes = {
        "alpha": labelled("alpha", alphas, r"Tsallis index $\alpha$"),
        "at": labelled("at", [str(at) for at in At], "where the queries are relaxed"),
    }
    groups = {
        "/": xr.Dataset(
            root, coords | {"position": labelled("position", np.arange(len(tokens)), "position of a token")}
        ),
        "/phases": xr.Dataset(phases, coords | axes),
    }
    return measurement("heads", TITLE, groups, {**options, "head_dimension": head_dimension})


def heads_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What the heads are like, as plain JSON values.

    Returns
    -------
    dict
        `model`, `tokens`, `head_dimension`, `heads` (how many), `duplicates` (keys of any head that equal
        another one of it); `layers`, one entry for each with its `layer`
        and the medians over its heads of every one of `STATISTICS`; `phases`, one entry for each (`alpha`,
        `layer`) with the medians of `PHASES` (None where infinite) and of the minima reached, by
        `data.heads.At`; `alphas`, one for each `alpha` with the number of heads in which several minima exist
        below β = 1 (`several_at_1`) and below √d (`several_at_sqrt_d`), in which no key is ever stored
        (`never_stored`), and in which the queries reach more than one (`reach_several`, by `At`); and
        `unconverged`, a line for each relaxation that reached no verified minimum.
    """
    root, phases = tree.to_dataset(), tree["phases"].to_dataset()
    d = int(tree.attrs["head_dimension"])
    layers = [
        {"layer": int(layer)} | {name: _median(root[name].sel(layer=layer)) for name in STATISTICS}
        for layer in root["layer"].values
    ]
    entries: list[dict[str, Any]] = []
    totals: list[dict[str, Any]] = []
    unconverged: list[str] = []
    for alpha in phases["alpha"].values.tolist():
        part = phases.sel(alpha=alpha)
        for layer in part["layer"].values:
            row = part.sel(layer=layer)
            entries.append(
                {"alpha": alpha, "layer": int(layer)}
                | {name: _median(row[name]) for name in PHASES}
                | {"states": {at: _median(row["states"].sel(at=at), least=0) for at in map(str, At)}}
            )
        totals.append(
            {
                "alpha": alpha,
                "several_at_1": int((part["second_minimum"] < 1).sum()),
                "several_at_sqrt_d": int((part["second_minimum"] < math.sqrt(d)).sum()),
                "never_stored": int(np.isinf(part["storage"]).sum()),
                "reach_several": {at: int((part["states"].sel(at=at) > 1).sum()) for at in map(str, At)},
            }
        )
        for layer, head, at in zip(*np.nonzero(part["undecided"].values), strict=True):
            where = part.isel(layer=layer, head=head, at=at)
            unconverged.append(
                f"alpha {alpha:g}, layer {int(where['layer'])}, head {int(where['head'])}, "
                f"{where['at'].item()}: {int(where['undecided'])} queries reached no verified minimum"
            )
    return {
        "model": tree.attrs["model"],
        "tokens": root.sizes["position"],
        "head_dimension": d,
        "heads": root.sizes["layer"] * root.sizes["head"],
        "duplicates": int(root["duplicates"].sum()),
        "layers": layers,
        "phases": entries,
        "alphas": totals,
        "unconverged": unconverged,
    }


def heads_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    M, d, heads = summary["tokens"], summary["head_dimension"], summary["heads"]
    lines = [
        f"{_heads(heads)}, {M} tokens, d {d}, {summary['duplicates']} keys that equal another of their head",
        "medians over the heads of a layer:",
        "layer  |k|    |q|    cosine  of repeats  storable  K        attention IPR",
    ]
    for row in summary["layers"]:
        lines.append(
            f"{row['layer']:<6} {_shown(row['key_norm']):<6} {_shown(row['query_norm']):<6} "
            f"{_shown(row['cosine']):<7} {_shown(row['cosine_repeated']):<11} {_shown(row['storable']):<9} "
            f"{_shown(row['coupling']):<8} {_shown(row['attention_ipr'])}"
        )
    for total in summary["alphas"]:
        alpha = total["alpha"]
        lines += [
            "",
            f"alpha {alpha:g}: a second minimum begins below beta 1 in {_heads(total['several_at_1'])},",
            f"       below sqrt(d) = {math.sqrt(d):.4g} in {total['several_at_sqrt_d']}",
            "       beta of                                     minima reached at",
            "layer  storage  2nd min  coexist  equidist  minima  1      sqrt(d)  1.01 onset",
        ]
        for row in (row for row in summary["phases"] if row["alpha"] == alpha):
            states = [_shown(row["states"][at]) for at in map(str, At)]
            lines.append(
                f"{row['layer']:<6} {_shown(row['storage']):<8} {_shown(row['second_minimum']):<8} "
                f"{_shown(row['coexistence']):<8} {_shown(row['equidistant']):<9} {_shown(row['minima']):<7} "
                f"{states[0]:<6} {states[1]:<8} {states[2]}"
            )
    return lines


def write_heads(
    folder: Path,
    layers: Sequence[int],
    heads: Sequence[int],
    keys: NDArray[np.float64],
    queries: NDArray[np.float64],
    tokens: Sequence[str],
    attrs: Mapping[str, Any],
) -> None:
    """Write one pattern file for each head, `layer-L-head-H.nc`, with its keys and its queries.

    Any command reads them: ``--patterns heads/layer-0-head-3.nc:keys``.

    Parameters
    ----------
    folder : Path
        Exists.
    layers, heads : sequence of int
        Which of the model.
    keys, queries : ndarray, shape (all layers, all heads, M, d)
    tokens : sequence of str
    attrs : mapping
        Where they come from.
    """
    origin = {
        "title": "keys and queries of an attention head",
        "package_version": hopfieldphase.__version__,
        "git_revision": git_revision(),
        **attrs,
    }
    for layer in layers:
        for head in heads:
            dims = ("position", "component")
            dataset = xr.Dataset(
                {
                    "keys": labelled(dims, keys[layer, head], r"keys $k_\mu$"),
                    "queries": labelled(dims, queries[layer, head], r"queries $q_\mu$"),
                },
                {"token": labelled("position", list(tokens), "token")},
                attributes.encode(origin | {"layer": layer, "head": head}),
            )
            dataset.to_netcdf(folder / f"layer-{layer}-head-{head}.nc", engine="h5netcdf")


def _median(values: xr.DataArray, least: float = -math.inf) -> float | None:
    """Median over the heads with a value; infinite ones count; None where it is infinite or there is none."""
    known = values.values[~np.isnan(values.values) & (values.values >= least)]
    middle = float(np.median(known)) if known.size else math.nan
    return middle if math.isfinite(middle) else None


def _heads(n: int) -> str:
    return f"{n} head" if n == 1 else f"{n} heads"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
