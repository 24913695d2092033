"""Selections and separable maps of 256 × 4096 scores in float64, measured against our own sparsemax.

    python -m benchmarks.attention [--scale 1 0.01 100] [--rounds 5] [--k 32] [--threads 2]

Scores are N(0, 1) times the scale. Every contestant writes into an array that exists where it can; PyTorch
runs in inference mode. The peers are what users write today: `torch.topk`, softmax and scatter for the k
largest scores; sort, cumulative sum and mask for a softmax mass; the entmax package's sparsemax of scores
masked by `torch.topk`. They are compared with the same map of ours.

Every process first compares its weights with the plain NumPy ones; above 1e-9 it fails, and so does the
contest. Times are medians over a second of repetitions.
"""

import argparse
import os
import statistics
import time
from importlib.metadata import version

import numpy as np

from benchmarks.contest import Contestant, report, run_contest
from hopfieldphase.core import attention as core

ROWS, N = 256, 4096
SECONDS = 1.0
LARGEST_ERROR = 1e-9
MASS = 0.9


def of_ours(make):
    def prepare(scores, k, threads):
        from hopfieldphase.kernels.attention import weights

        attention, out = make(k), np.empty_like(scores)
        return lambda: weights(attention, scores, out=out, threads=threads)

    return prepare


def torch_top_k(scores, k, threads):
    import torch

    z = torch.from_numpy(scores)

    def call():
        values, places = torch.topk(z, k, dim=-1)
        return torch.zeros_like(z).scatter_(-1, places, torch.softmax(values, -1))

    return call


def torch_top_p(scores, k, threads):
    import torch

    z = torch.from_numpy(scores)

    def call():
        ordered, places = torch.sort(z, dim=-1, descending=True)
        p = torch.softmax(ordered, -1)
        p[torch.cumsum(p, -1) - p >= MASS] = 0
        return torch.zeros_like(z).scatter_(-1, places, p / p.sum(-1, keepdim=True))

    return call


def package_sparsemax_k(scores, k, threads):
    import entmax
    import torch

    z = torch.from_numpy(scores)

    def call():
        values, places = torch.topk(z, k, dim=-1)
        return torch.zeros_like(z).scatter_(-1, places, entmax.sparsemax(values, dim=-1))

    return call


def torch_softmax(scores, k, threads):
    import torch

    z = torch.from_numpy(scores)
    out = torch.empty_like(z)
    return lambda: torch.softmax(z, -1, out=out)


BASELINE = "sparsemax"
# What a contestant computes, and how it is prepared.
CONTESTANTS = {
    BASELINE: (lambda k: core.Entmax(2), None),
    "softmax": (lambda k: core.Entmax(1), None),
    "torch.softmax": (lambda k: core.Entmax(1), torch_softmax),
    "top-k": (core.TopK, None),
    "torch top-k": (core.TopK, torch_top_k),
    "sparsemax-k": (core.SparsemaxK, None),
    "entmax of topk": (core.SparsemaxK, package_sparsemax_k),
    "capped 1.5-entmax": (lambda k: core.CappedEntmax(k, 1.5), None),
    "top-p": (lambda k: core.TopP(MASS), None),
    "torch top-p": (lambda k: core.TopP(MASS), torch_top_p),
    "separable t²/2": (lambda k: core.Separable.quadratic(), None),
    "separable 1.5": (lambda k: core.Separable.tsallis(1.5), None),
    "separable 3": (lambda k: core.Separable.tsallis(3), None),
    "separable t ln t": (lambda k: core.Separable.shannon(), None),
}


def measure(name, scale, k, threads):
    """Median seconds of one call in this process, warm, and a projection of every row."""
    import torch

    torch.set_num_threads(threads)
    scores = scale * np.random.default_rng(0).standard_normal((ROWS, N))
    make, prepare = CONTESTANTS[name]
    call = (prepare or of_ours(make))(scores, k, threads)
    with torch.inference_mode():
        weights = np.array(call())
        error = np.max(np.abs(weights - make(k).weights(scores)))
        if not error < LARGEST_ERROR:
            raise SystemExit(f"{name} is off by {error:.1e}")
        times = []
        while sum(times) < SECONDS or len(times) < 5:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    projection = weights @ np.cos(np.arange(N))
    return {"seconds": statistics.median(times), "error": f"{error:.0e}", "values": projection.tolist()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, nargs="+", default=[1.0, 0.01, 100.0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--k", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--maps", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS), metavar="NAME")
    parser.add_argument("--measure", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shared = {"k": arguments.k, "threads": arguments.threads}
    if arguments.measure:
        report(measure(arguments.measure, arguments.scale[0], **shared))
        return
    names = [BASELINE, *(name for name in arguments.maps if name != BASELINE)]
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "torch", "entmax")))
    print(
        f"{ROWS} x {N} float64, k = {arguments.k}, mass {MASS:g}, {arguments.threads} threads, "
        f"{arguments.rounds} fresh processes each; 'times ours' is the time over that of our sparsemax"
    )
    for scale in arguments.scale:
        contestants = [Contestant(name, {"measure": name, "scale": scale, **shared}) for name in names]
        results = run_contest("benchmarks.attention", contestants, arguments.rounds)
        print(f"\nscores N(0, 1) × {scale:g}, load {os.getloadavg()[0]:.1f}")
        results.print_table(baseline=BASELINE, extra=("error",))


if __name__ == "__main__":
    main()
