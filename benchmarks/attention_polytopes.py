"""Maps under caps and by norms, 256 × 4096 scores in float64, side by side with bisections.

    python -m benchmarks.attention_polytopes [--map capped-simplex …] [--rounds 5]

Scores are N(0, 1). `bisection` is the usual way to find the one threshold, in NumPy: 50 halvings of a bracket
on all rows at once, in one thread. The entmax package has a bisection of its own for two of the maps, in
PyTorch. `our sparsemax` is another map, a yardstick of what a sparse map may cost. The rest has two threads.

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
from hopfieldphase.core.attention import CappedSimplex, ConstrainedSoftmax, Normmax, WaterFilling
from hopfieldphase.core.entmax import entmax

ROWS, N = 256, 4096
THREADS = 2
SECONDS = 1.0
HALVINGS = 50
LARGEST_ERROR = 1e-9  # 50 halvings of a bracket of up to ten
CAPS = np.random.default_rng(1).uniform(0, 16 / N, N)

MAPS = {
    "capped-simplex": CappedSimplex(64),
    "water-filling": WaterFilling(5.0, CAPS),
    "constrained-softmax": ConstrainedSoftmax(CAPS),
    "normmax": Normmax(2.0),
}
OURS, SPARSEMAX, BISECTION, PACKAGE = "hopfieldphase", "our sparsemax", "bisection", "entmax"
CONTESTS = {
    "capped-simplex": [OURS, SPARSEMAX, BISECTION, PACKAGE],
    "water-filling": [OURS, SPARSEMAX, BISECTION],
    "constrained-softmax": [OURS, SPARSEMAX, BISECTION],
    "normmax": [OURS, SPARSEMAX, BISECTION, PACKAGE],
}


def ours(scores, name):
    from hopfieldphase.kernels.attention_capped import capped_weights
    from hopfieldphase.kernels.attention_normmax import normmax_weights

    weights = normmax_weights if name == "normmax" else capped_weights
    return lambda: weights(MAPS[name], scores, threads=THREADS)


def our_sparsemax(scores, name):
    from hopfieldphase import entmax as compiled

    return lambda: compiled(scores, 2, threads=THREADS)


def bisection(scores, name):
    """Halve a bracket of the threshold, where the total is above the budget at its lower end."""
    attention = MAPS[name]

    def gate(threshold):
        above = scores - threshold
        match name:
            case "constrained-softmax":
                return np.minimum(np.exp(above), attention.caps)
            case "normmax":
                return np.maximum(above, 0.0) ** 2
            case _:
                return np.clip(above, 0.0, attention.caps)

    def weights():
        top = scores.max(axis=-1, keepdims=True)
        low, high, budget = scores.min(axis=-1, keepdims=True) - 1, top, getattr(attention, "budget", 1.0)
        if name == "constrained-softmax":
            high = top + np.log(N)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            enough = gate(middle).sum(axis=-1, keepdims=True) >= budget
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        p = gate(low)
        if name == "normmax":
            p = np.sqrt(p)
            p /= p.sum(axis=-1, keepdims=True)
        return p

    return weights


def package(scores, name):
    import entmax
    import torch

    torch.set_num_threads(THREADS)
    tensor = torch.from_numpy(scores)
    if name == "normmax":
        return lambda: entmax.normmax_bisect(tensor, alpha=2, n_iter=HALVINGS)
    return lambda: entmax.budget_bisect(tensor, budget=MAPS[name].budget, n_iter=HALVINGS)


CONTESTANTS = {OURS: ours, SPARSEMAX: our_sparsemax, BISECTION: bisection, PACKAGE: package}


def measure(name, contestant):
    """Median seconds of one call in this process, warm, and a projection of every row."""
    scores = np.random.default_rng(0).standard_normal((ROWS, N))
    call = CONTESTANTS[contestant](scores, name)
    weights = np.asarray(call())
    expected = entmax(scores, 2) if contestant == SPARSEMAX else MAPS[name].weights(scores)
    error = np.max(np.abs(weights - expected))
    if not error < LARGEST_ERROR:
        raise SystemExit(f"{contestant} is off by {error:.1e}")
    times = []
    while sum(times) < SECONDS or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    projection = weights @ np.cos(np.arange(N))
    return {"seconds": statistics.median(times), "error": f"{error:.0e}", "values": projection.tolist()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--map", nargs="+", choices=CONTESTS, default=list(CONTESTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        report(measure(arguments.map[0], arguments.measure))
        return
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "torch", "entmax")))
    print(f"{ROWS} x {N} float64, {THREADS} threads, {arguments.rounds} fresh processes each")
    for name in arguments.map:
        contestants = [Contestant(one, {"measure": one, "map": name}) for one in CONTESTS[name]]
        results = run_contest("benchmarks.attention_polytopes", contestants, arguments.rounds)
        print(f"\n{name}, scores N(0, 1), load {os.getloadavg()[0]:.1f}")
        results.print_table(baseline=OURS, extra=("error",))


if __name__ == "__main__":
    main()
