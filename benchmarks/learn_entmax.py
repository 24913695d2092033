"""Entmax forward and backward in PyTorch, float32, side by side with the entmax package.

    python -m benchmarks.learn_entmax [--alpha 1.5 2] [--M 64 4096] [--rounds 5]

Scores N(0, 1) of shape 64 × 4 × M (batch, heads, patterns). One call is the weights and the gradient of a
weighted sum of them with respect to the scores. Every contestant has two threads. `k=100` of the entmax
package sorts only the 100 largest scores and doubles that number where it is not enough. PyTorch's softmax is
what sparse maps are measured against, so it takes part although it is another map.

Every process first compares its weights and gradients with those of the plain formulas in float64; above 1e-5
it fails, and so does the contest. Times are medians over a second of repetitions.
"""

import argparse
import os
import statistics
import time
from importlib.metadata import version

import numpy as np

from benchmarks.contest import Contestant, report, run_contest
from hopfieldphase.core import entmax as core

BATCH, HEADS = 64, 4
THREADS = 2
SECONDS = 1.0
LARGEST_ERROR = 1e-5  # float32 sums and square roots of 4096 terms

OURS, SOFTMAX = "hopfieldphase", "torch.softmax"
CONTESTS = {
    1.5: [OURS, SOFTMAX, "entmax15", "entmax15 k=100"],
    2.0: [OURS, SOFTMAX, "sparsemax", "sparsemax k=100"],
}


def function(name, alpha):
    """The map of a contestant, from scores to weights."""
    if name == OURS:
        from hopfieldphase.learn.entmax import entmax

        return lambda z: entmax(z, alpha)
    if name == SOFTMAX:
        import torch

        return lambda z: torch.softmax(z, -1)
    import entmax

    map_name, _, option = name.partition(" ")
    return lambda z: getattr(entmax, map_name)(z, dim=-1, k=100 if option else None)


def measure(name, alpha, M):
    """Median seconds of one call in this process, warm, and a projection of every gradient."""
    import torch

    torch.set_num_threads(THREADS)
    rng = np.random.default_rng(0)
    scores = torch.from_numpy(rng.standard_normal((BATCH, HEADS, M), dtype=np.float32)).requires_grad_()
    upstream = torch.from_numpy(rng.standard_normal((BATCH, HEADS, M), dtype=np.float32))
    weights = function(name, alpha)

    def call():
        p = weights(scores)
        return p, torch.autograd.grad(p, scores, upstream)[0]

    p, gradient = (tensor.detach().double().numpy() for tensor in call())
    index = 1.0 if name == SOFTMAX else alpha
    exact = core.entmax(scores.detach().double().numpy(), index)
    exact_gradient = index * core.jacobian_action(exact, upstream.double().numpy(), index)
    error = max(np.abs(p - exact).max(), np.abs(gradient - exact_gradient).max())
    if not error < LARGEST_ERROR:
        raise SystemExit(f"{name} is off by {error:.1e}")
    times = []
    while sum(times) < SECONDS or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    projection = gradient.reshape(-1, M) @ np.cos(np.arange(M))
    return {"seconds": statistics.median(times), "error": f"{error:.0e}", "values": projection.tolist()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--alpha", type=float, nargs="+", choices=CONTESTS, default=list(CONTESTS))
    parser.add_argument("--M", type=int, nargs="+", default=[64, 4096])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        report(measure(arguments.measure, arguments.alpha[0], arguments.M[0]))
        return
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "torch", "entmax")))
    print(f"{BATCH} x {HEADS} x M float32, {THREADS} threads, {arguments.rounds} fresh processes each")
    for alpha in arguments.alpha:
        for M in arguments.M:
            shared = {"alpha": alpha, "M": M}
            contestants = [Contestant(name, {"measure": name, **shared}) for name in CONTESTS[alpha]]
            results = run_contest("benchmarks.learn_entmax", contestants, arguments.rounds)
            print(f"\nalpha = {alpha:g}, M = {M}, forward + backward, load {os.getloadavg()[0]:.1f}")
            results.print_table(baseline=OURS, extra=("error",))


if __name__ == "__main__":
    main()
