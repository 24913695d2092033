"""Attention with positive kernels, forward and backward in float32, by tiles against the whole matrix.

    python -m benchmarks.learn_kernel_attention [--kernel exponential linear-elu ...] [--N 4096] [--d 64]
                                                [--threads 1] [--rounds 5]

Queries, keys, values and the gradient with respect to the means are N(0, 1), N points of d dimensions each,
one head. One call is the means and the gradients with respect to all three. "whole matrix" is the formula in
PyTorch that holds fewest N × N tensors, with the fused elementwise functions that there are; for the
exponential PyTorch's fused attention takes part too.

MB is what the first call at full size adds to the resident memory of the process at its peak (Linux), with
its results. Every process then compares means and gradients with the core's weights and their derivatives in
float64; above 1e-5 of the largest entry it fails, and so does the contest. Times are medians over a second of
repetitions, at least five.
"""

import argparse
import math
import os
import resource
import statistics
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.contest import Contestant, report, run_contest
from hopfieldphase.core.attention import Exponential, LinearElu, LogElu, SquaredElu

KERNELS = {kernel.name: kernel for kernel in (Exponential(), SquaredElu(), LinearElu(), LogElu())}
SECONDS = 1.0
ROWS = 256  # queries at a time of the exact results
LARGEST_ERROR = 1e-5  # float32 sums of 4096 terms

OURS, WHOLE, FUSED = "hopfieldphase", "whole matrix", "torch fused"


def function(name, kernel):
    """The attention of a contestant, from queries, keys and values to means."""
    import torch
    from torch.nn import functional

    if name == OURS:
        from hopfieldphase.learn.kernel_attention import kernel_attention

        return lambda q, k, v: kernel_attention(q, k, v, kernel)
    if name == FUSED:  # which is fused for four axes only
        return lambda *qkv: functional.scaled_dot_product_attention(*(x[None] for x in qkv))[0]
    if kernel == "exponential":
        return lambda q, k, v: torch.softmax(q / math.sqrt(q.shape[-1]) @ k.mT, -1) @ v
    g = {
        "linear-elu": lambda s: functional.elu(s) + 1,
        "squared-elu": lambda s: (functional.elu(s) + 1).square(),
        "log-elu": lambda s: 1 / (1 - s.clamp(max=0)) + s.clamp(min=0).log1p(),
    }[kernel]

    def whole(q, k, v):
        weights = g(q / math.sqrt(q.shape[-1]) @ k.mT)
        return weights @ v / weights.sum(-1, keepdim=True)

    return whole


def exact(kernel, q, k, v, upstream):
    """Means and gradients by the core in float64, a few queries at a time."""
    kernel, root = KERNELS[kernel], math.sqrt(q.shape[-1])
    means, d_query, d_key, d_value = (np.zeros_like(x) for x in (q, q, k, v))
    for i in range(0, len(q), ROWS):
        rows = slice(i, i + ROWS)
        scores, pull = q[rows] @ k.T / root, upstream[rows] @ v.T
        p = kernel.weights(scores)
        means[rows] = p @ v
        slope = kernel.growth(np, scores) * p * (pull - (p * pull).sum(axis=1, keepdims=True)) / root
        d_query[rows] = slope @ k
        d_key += slope.T @ q[rows]
        d_value += p.T @ upstream[rows]
    return means, d_query, d_key, d_value


def resident_megabytes():
    """Resident memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure(name, kernel, N, d, threads):
    """Median seconds of one call in this process, warm, peak memory, and a projection of the results."""
    import torch

    torch.set_num_threads(threads)
    attention = function(name, kernel)

    def call(q, k, v, upstream):
        means = attention(q, k, v)
        return means.detach(), *torch.autograd.grad(means, (q, k, v), upstream)

    def inputs(n):
        rng = np.random.default_rng(0)
        tensors = [torch.from_numpy(rng.standard_normal((1, n, d), dtype=np.float32)) for _ in range(4)]
        return *(x.requires_grad_() for x in tensors[:3]), tensors[3]

    call(*inputs(128))
    given = inputs(N)
    before = resident_megabytes()
    results = call(*given)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10 - before
    results = [x[0].double().numpy() for x in results]
    expected = exact(kernel, *(x[0].detach().double().numpy() for x in given))
    error = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(results, expected, strict=True))
    if not error < LARGEST_ERROR:
        raise SystemExit(f"{name} is off by {error:.1e}")
    times = []
    while sum(times) < SECONDS or len(times) < 5:
        start = time.perf_counter()
        call(*given)
        times.append(time.perf_counter() - start)
    values = np.concatenate([x @ np.cos(np.arange(d)) for x in results])
    return {
        "seconds": statistics.median(times),
        "MB": f"{peak:.1f}",
        "error": f"{error:.0e}",
        "values": values.tolist(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernel", nargs="+", choices=KERNELS, default=list(KERNELS))
    parser.add_argument("--N", type=int, default=4096)
    parser.add_argument("--d", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shared = {"N": arguments.N, "d": arguments.d, "threads": arguments.threads}
    if arguments.measure:
        report(measure(arguments.measure, arguments.kernel[0], **shared))
        return
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "torch")))
    print(
        f"N = {arguments.N}, d = {arguments.d}, float32, {arguments.threads} thread(s), forward + backward, "
        f"{arguments.rounds} fresh processes each"
    )
    for kernel in arguments.kernel:
        names = [OURS, WHOLE, *([FUSED] if kernel == "exponential" else [])]
        contestants = [Contestant(name, {"measure": name, "kernel": kernel, **shared}) for name in names]
        results = run_contest("benchmarks.learn_kernel_attention", contestants, arguments.rounds)
        print(f"\n{kernel}, load {os.getloadavg()[0]:.1f}")
        results.print_table(baseline=OURS, extra=("MB", "error"))


if __name__ == "__main__":
    main()
