"""A whole training step, and an evaluation, of the Transformer of Appendix G.2, and the share of the map.

    python -m benchmarks.learn_step [--alpha 1.5 2] [--rounds 5]

The training step has B = 64 examples of M = 64 memories (data, forward, backward, AdamW), the evaluation 32
examples of M = 4096 (data, forward, observables). The contestants are one model with different maps: ours,
those of the entmax package, and PyTorch's softmax, another map. The share of the map is the time of the map
alone at the same shape, forward and backward (the evaluation: forward), over that of the whole; `limit` is
how many times faster the whole would be with a map of no cost. Losses of ours and of the entmax package are
compared first. One thread, as in a study, where every core has a model of its own.
"""

import argparse
import os
import statistics
import time
from importlib.metadata import version

import numpy as np

from benchmarks.contest import Contestant, report, run_contest
from benchmarks.learn_entmax import OURS, SOFTMAX, function

SECONDS = 2.0
LARGEST_DIFFERENCE = 1e-4  # of the loss, relative: float32 sums in other orders
PEERS = {1.5: "entmax15", 2.0: "sparsemax"}
SHAPES = {"training step": (64, 64), "evaluation": (32, 4096)}


def median_seconds(call):
    """Median time of a call, warm."""
    call()
    times = []
    while sum(times) < SECONDS or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(name, alpha, what):
    """Seconds of the whole and of its map."""
    import torch

    from hopfieldphase.learn import training, transformer
    from hopfieldphase.learn.capacity import reliability

    torch.set_num_threads(1)
    weights = function(name, alpha)
    if name != OURS:
        # The package has no factor β/α of its own: the model hands over the scores with it.
        transformer.entmax = lambda scores, _: weights(scores)
    B, M = SHAPES[what]
    run = training.Training("selective", alpha, loads=(M,), batch_size=B)
    model, data = run.untrained(), run.data
    scores = torch.randn(B, model.heads, M, generator=torch.Generator().manual_seed(0))
    if what == "evaluation":
        with torch.inference_mode():
            whole = median_seconds(lambda: reliability(model, data, M, examples=B))
            alone = median_seconds(lambda: weights(scores))
        values = reliability(model, data, M, examples=B).relative_error
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=run.learning_rate, fused=True)
        values = [training.step(n, run, model, optimizer, data) for n in range(20)]
        whole = median_seconds(lambda: training.step(0, run, model, optimizer, data))
        scores.requires_grad_()
        upstream = torch.ones_like(scores)
        alone = median_seconds(lambda: torch.autograd.grad(weights(scores), scores, upstream))
    share = alone / whole
    return {
        "seconds": whole, "map ms": f"{1e3 * alone:.3f}", "share": f"{share:.2f}",
        "limit": f"{1 / (1 - share):.2f}", "values": list(map(float, values)),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--alpha", type=float, nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--what", default="training step", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        report(measure(arguments.measure, arguments.alpha[0], arguments.what))
        return
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "torch", "entmax")))
    for alpha in arguments.alpha:
        for what, (B, M) in SHAPES.items():
            contestants = [
                Contestant(name, {"measure": name, "alpha": alpha, "what": what})
                for name in (OURS, PEERS[alpha], SOFTMAX)
            ]
            results = run_contest("benchmarks.learn_step", contestants, arguments.rounds)
            ours, theirs = results.values(OURS), results.values(PEERS[alpha])
            difference = np.abs(ours / theirs - 1).max()
            if not difference < LARGEST_DIFFERENCE:
                raise SystemExit(f"{what}: the losses differ by {difference:.1e}")
            print(
                f"\n{what}: {B} examples, M = {M}, alpha = {alpha:g}, one thread, "
                f"load {os.getloadavg()[0]:.1f}"
            )
            results.print_table(baseline=OURS, extra=("map ms", "share", "limit"))


if __name__ == "__main__":
    main()
