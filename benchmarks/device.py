"""Batched descent and Newton sweeps on a device: values, evaluations per second, share of the bound.

    python -m benchmarks.device [--minutes 10] [--backend auto] [--dimension 64]

The backend is CuPy or PyTorch on a GPU where one is found, else PyTorch on the processor, else NumPy. First a
small β sweep (M = 200) and a small κ sweep are computed there and by the compiled kernels on the processor;
free energies must agree to 1e-11 and jumps be equal, or the script ends with exit code 1.

Then, for M = 10⁴, 10⁵ and 10⁶ clustered patterns and α = 1, 2, short warm-started β sweeps are timed, up and
down at once, for as many realizations R as fill a quarter of the memory (8 at most), and single evaluations
of all states (S = 2). An evaluation reads the patterns twice, for the overlaps and for the update: two reads
of R M d doubles at the measured bandwidth (a long array plus a number) are the memory bound, 4 R S M d
operations at the measured rate (a product of square matrices) the arithmetic one; the larger is the bound of
the table. Where the minutes do not reach, the larger sizes are left out, and the script says so.

It has not been run on a GPU yet.
"""

import argparse
import sys
import time

import numpy as np

SIZES = (10_000, 100_000, 1_000_000)
ALPHAS = (1.0, 2.0)
STATES = 2
LARGEST_ERROR = 1e-11
POINTS = 4


def choose(name):
    from hopfieldphase.core.errors import InputError
    from hopfieldphase.kernels.device import backend_of, numpy_like, torch_on

    if name in ("auto", "cuda"):
        try:
            return backend_of("cuda")
        except InputError as error:
            if name == "cuda":
                sys.exit(f"error: {error}")
            print(error)
    if name in ("auto", "torch"):
        try:
            return torch_on("cpu")
        except ModuleNotFoundError:
            if name == "torch":
                sys.exit("error: PyTorch is not installed: pip install 'hopfieldphase[learn]'")
    return numpy_like(np)


def check_values(backend):
    """Sweeps of the compiled kernels in float64 against the backend."""
    import hopfieldphase as hp
    from hopfieldphase.continuation.batched_kappa import kappa_batch
    from hopfieldphase.continuation.batched_sweep import sweep_batch
    from hopfieldphase.continuation.kappa import kappa_sweep
    from hopfieldphase.continuation.sweep import sweep

    descent = {"solver": "gradient-descent"}
    agreed = True
    for alpha in ALPHAS:
        model = hp.HopfieldModel(hp.patterns.clustered(200, 16, seed=0), alpha)
        betas = np.linspace(20.0, 240.0 if alpha == 1 else 120.0, 6)
        kappas, beta = [0.1, 0.2, 0.25], 180.0 if alpha == 1 else 60.0
        pairs = {
            "beta": (sweep_batch([model], betas, backend, **descent)[0], sweep(model, betas, **descent)),
            "kappa": (
                kappa_batch([model], kappas, beta, backend, **descent)[0].sweep,
                kappa_sweep(model, kappas, beta, **descent).sweep,
            ),
        }
        for name, (found, known) in pairs.items():
            error = np.abs(found.free_energy - known.free_energy).max()
            same = np.array_equal(found.jumped, known.jumped) and np.array_equal(found.status, known.status)
            agreed = agreed and same and error <= LARGEST_ERROR
            print(
                f"{name} sweep, alpha {alpha:g}: free energies within {error:.1e}, "
                f"{int(known.jumped.sum())} jumps and all statuses {'equal' if same else 'DIFFERENT'}"
            )
    return agreed


def fastest(backend, work, seconds):
    """Shortest time of a call, warmed up, within a time."""
    work()
    backend.wait()
    times, end = [], time.perf_counter() + seconds
    while not times or (time.perf_counter() < end and len(times) < 50):
        start = time.perf_counter()
        work()
        backend.wait()
        times.append(time.perf_counter() - start)
    return min(times)


def limits(backend, seconds):
    """Measured bandwidth in bytes and arithmetic in operations per second, in float64."""
    xp = backend.xp
    long = backend.put(np.ones(min(2**27, backend.memory // 64)))
    copy = fastest(backend, lambda: long + 1.0, seconds)
    n = 8192 if backend.name != "cpu" else 1024
    square = backend.put(np.ones((n, n)))
    product = fastest(backend, lambda: xp.matmul(square, square), seconds)
    return 16 * long.shape[0] / copy, 2 * n**3 / product


def measure(backend, M, d, alpha, bandwidth, arithmetic, seconds):
    """One row of the table."""
    import hopfieldphase as hp
    from hopfieldphase.continuation.batched_sweep import bytes_per_model, sweep_batch
    from hopfieldphase.kernels.batched_steps import Batch, evaluate

    first = hp.HopfieldModel(hp.patterns.clustered(M, d, seed=0), alpha)
    R = max(1, min(8, backend.memory // 4 // bytes_per_model(first)))
    others = (hp.patterns.clustered(M, d, seed=0, realization=k) for k in range(1, R))
    models = [first, *(hp.HopfieldModel(stored, alpha) for stored in others)]
    put = backend.put
    x = put(
        np.stack([np.stack([m.scale * m.patterns.mean(axis=0), m.scale * m.patterns[0]]) for m in models])
    )
    length = put(np.array([[model.state_scale] for model in models]))
    batch = Batch(
        backend.xp, put(np.stack([m.patterns for m in models])), None, first.scale, alpha,
        put(np.array([[200.0]])), length,
    )  # fmt: skip
    with np.errstate(all="ignore"):
        once = fastest(backend, lambda: evaluate(batch, x), seconds)
    bound = max(16 * R * M * d / bandwidth, 4 * R * STATES * M * d / arithmetic)
    start = time.perf_counter()
    swept = sweep_batch(models, np.geomspace(100.0, 400.0, POINTS), backend)
    backend.wait()
    took = time.perf_counter() - start
    good = np.mean([sweep.status == 0 for sweep in swept])
    return (
        f"| {M} | {alpha:g} | {R} | {once * 1e3:.3g} | {R * STATES / once:.3g} | {bound * 1e3:.3g} "
        f"| {bound / once:.0%} | {R * STATES * POINTS / took:.3g} | {good:.0%} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="time for everything")
    parser.add_argument("--backend", choices=("auto", "cuda", "torch", "numpy"), default="auto")
    parser.add_argument("--dimension", type=int, default=64)
    options = parser.parse_args()
    end = time.perf_counter() + 60 * options.minutes
    backend = choose(options.backend)
    seconds = options.minutes
    print(f"{backend.xp.__name__} on {backend.name}\n")
    if not check_values(backend):
        print("values differ: nothing is timed")
        sys.exit(1)
    bandwidth, arithmetic = limits(backend, seconds)
    print(f"\nmeasured: {bandwidth / 1e9:.0f} GB/s, {arithmetic / 1e9:.0f} GFLOP/s in float64\n")
    print(
        "| M | alpha | R | evaluation, ms | states/s | bound, ms | of the bound | sweep points/s | minima |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    spent = 0.0
    for M in SIZES:
        start = time.perf_counter()
        if start + 12 * spent > end:  # ten times the patterns
            print(f"\nM = {M} and more left out: no time for them within {options.minutes:g} minutes")
            break
        for alpha in ALPHAS:
            row = measure(backend, M, options.dimension, alpha, bandwidth, arithmetic, seconds)
            print(row, flush=True)
        spent = time.perf_counter() - start


if __name__ == "__main__":
    main()
