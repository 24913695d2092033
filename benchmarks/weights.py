"""Attention weights of 256 × 4096 scores in float64, side by side with entmax and PyTorch.

    python -m benchmarks.weights [--alpha 1 1.3 1.5 2] [--scale 1 0.01 100] [--rounds 5] [--outputs new]

Scores are N(0, 1) times the scale. Every contestant has two threads, and gets its scores in the layout that
it likes best (last axis, contiguous). PyTorch runs in inference mode. entmax has no output argument, so that
all allocate their results; with `--outputs existing` those that can (hopfieldphase and PyTorch's softmax)
write into an array that exists. entmax's settings: `k=100` sorts only the 100 largest scores and
doubles that number where it is not enough; entmax_bisect takes its default of 50 halvings. PyTorch's softmax
is what sparse maps are measured against, so it takes part for every alpha although it is another map.

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
from hopfieldphase.core import entmax as core

ROWS, M = 256, 4096
THREADS = 2
SECONDS = 1.0
LARGEST_ERROR = 1e-9  # 50 halvings of a bracket of one, and the sums of 4096 terms


def ours(scores, alpha, out):
    from hopfieldphase import entmax

    return lambda: entmax(scores, alpha, out=out, threads=THREADS)


def torch_softmax(scores, alpha, out):
    import torch

    tensor = torch.from_numpy(scores)
    target = None if out is None else torch.from_numpy(out)
    return lambda: torch.softmax(tensor, -1, out=target)


def of_entmax(name, **settings):
    """A function of the entmax package; `alpha` in the settings stands for the contest's."""

    def prepare(scores, alpha, out):
        import entmax
        import torch

        tensor = torch.from_numpy(scores)
        function = getattr(entmax, name)
        given = {key: alpha if key == "alpha" else value for key, value in settings.items()}
        return lambda: function(tensor, dim=-1, **given)

    return prepare


OURS, SOFTMAX = "hopfieldphase", "torch.softmax"
CONTESTANTS = {
    OURS: ours,
    SOFTMAX: torch_softmax,
    "sparsemax": of_entmax("sparsemax"),
    "sparsemax k=100": of_entmax("sparsemax", k=100),
    "entmax15": of_entmax("entmax15"),
    "entmax15 k=100": of_entmax("entmax15", k=100),
    "entmax_bisect": of_entmax("entmax_bisect", alpha=None, n_iter=50),
}
CONTESTS = {
    1.0: [OURS, SOFTMAX],
    1.3: [OURS, SOFTMAX, "entmax_bisect"],
    1.5: [OURS, SOFTMAX, "entmax15", "entmax15 k=100"],
    2.0: [OURS, SOFTMAX, "sparsemax", "sparsemax k=100"],
}


def measure(name, alpha, scale, outputs):
    """Median seconds of one call in this process, warm, and a projection of every row."""
    import torch

    torch.set_num_threads(THREADS)
    scores = scale * np.random.default_rng(0).standard_normal((ROWS, M))
    out = np.empty_like(scores) if outputs == "existing" else None
    call = CONTESTANTS[name](scores, alpha, out)
    with torch.inference_mode():
        weights = np.asarray(call())
        error = np.max(np.abs(weights - core.entmax(scores, 1.0 if name == SOFTMAX else alpha)))
        if not error < LARGEST_ERROR:
            raise SystemExit(f"{name} is off by {error:.1e}")
        times = []
        while sum(times) < SECONDS or len(times) < 5:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    projection = weights @ np.cos(np.arange(M))
    return {"seconds": statistics.median(times), "error": f"{error:.0e}", "values": projection.tolist()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--alpha", type=float, nargs="+", choices=CONTESTS, default=list(CONTESTS))
    parser.add_argument("--scale", type=float, nargs="+", default=[1.0, 0.01, 100.0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--outputs", choices=["new", "existing"], default="new")
    parser.add_argument("--measure", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        report(measure(arguments.measure, arguments.alpha[0], arguments.scale[0], arguments.outputs))
        return
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "torch", "entmax")))
    print(
        f"{ROWS} x {M} float64, {THREADS} threads, {arguments.outputs} outputs, "
        f"{arguments.rounds} fresh processes each"
    )
    for alpha in arguments.alpha:
        for scale in arguments.scale:
            shared = {"alpha": alpha, "scale": scale, "outputs": arguments.outputs}
            contestants = [Contestant(name, {"measure": name, **shared}) for name in CONTESTS[alpha]]
            results = run_contest("benchmarks.weights", contestants, arguments.rounds)
            print(f"\nalpha = {alpha:g}, scores N(0, 1) × {scale:g}, load {os.getloadavg()[0]:.1f}")
            results.print_table(baseline=OURS, extra=("error",))


if __name__ == "__main__":
    main()
