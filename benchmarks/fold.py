"""A smooth fold, from the retrieval state through K_spin and along the unstable arm, against contique.

    python -m benchmarks.fold [--rounds 5]

Softmax over M equidistant orthonormal patterns at unit scale: from the retrieval state at b = 8 (M = 10) or
b = 10 (M = 100) down through the fold and along the unstable arm up to b = 6 or 8 (ours goes on to the start
value). Every tool gets the same functions F, F_x and F_p in plain NumPy, one thread; "ours, of the model" is
the branch of a HopfieldModel, which compiles them and observes every special point. Compared before the
times: every point against the closed form b(p₁) of the symmetric ray. contique (pip install contique)
locates no fold and knows no stability: its fold error is that of its lowest point. It is shown with steps
that give about as many points as ours, and with the longest with which it still follows the curve.
"""

import argparse
import contextlib
import io
import os
import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from benchmarks.contest import Contestant, report, run_contest
from hopfieldphase.continuation.arclength import continue_curve
from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.curve import CurvePointKind
from hopfieldphase.continuation.equations import Problem
from hopfieldphase.continuation.following import follow_arclength
from hopfieldphase.core.closed_forms import potts_coupling, potts_spinodal
from hopfieldphase.model import HopfieldModel

START = {10: 8.0, 100: 10.0}
TARGET = {10: 6.0, 100: 8.0}
ON_THE_CURVE = 1e-6
# Largest steps in the unknowns and in b, with 17 points each and with 8 and 5; longer ones lose the curve.
AS_MANY = {10: (0.05, 1.0), 100: (0.1, 0.2)}
LONGEST = {10: (0.15, 1.0), 100: (0.15, 1.0)}


def softmax(z):
    weights = np.exp(z - z.max())
    return weights / weights.sum()


def F(x, b):
    return x - softmax(b * x)


def F_x(x, b):
    p = softmax(b * x)
    jacobian = np.outer(b * p, p)
    jacobian[np.diag_indices(len(x))] += 1 - b * p
    return jacobian


def F_p(x, b):
    p = softmax(b * x)
    return p * (p @ x - x)


def retrieval_state(M):
    x = np.eye(M)[0]
    for _ in range(200):
        x = softmax(START[M] * x)
    return x


def off_the_ray(M, states, values):
    """Worst distance in b of the points from the closed form, relative."""
    exact = np.array([potts_coupling(x.max(), M, 1.0) for x in states])
    return float(np.max(np.abs(exact / values - 1)))


def ours(M):
    problem = Problem(F, F_x, F_p, symmetric=True)
    x = retrieval_state(M)

    def run():
        return continue_curve(problem, x, START[M], p_min=1.0, p_max=START[M], direction=-1)

    curve = run()
    (fold,) = [point for point in curve.special_points if point.kind is CurvePointKind.FOLD]
    assert (fold.index_before, fold.index_after, curve.index[-1]) == (0, 1, 1)
    return run, curve.state, curve.parameter, fold.parameter


def ours_of_the_model(M):
    model = HopfieldModel(np.eye(M), alpha=1.0, scale=1.0)
    x = retrieval_state(M)

    def run():
        return follow_arclength(model, x, START[M], 1.0, START[M])

    branch = run()
    (fold,) = [point for point in branch.special_points if point.kind is PointKind.FOLD]
    curve = branch.pieces[0].curve  # from the unstable end to the retrieval state
    return run, curve.state[::-1], curve.parameter[::-1], fold.parameter


def contique(M, steps):
    import contique

    x = retrieval_state(M)
    dx, db = steps[M]

    def run():
        points = []
        with contextlib.redirect_stdout(io.StringIO()):
            for result in contique.solve(
                fun=F, jac=[F_x, F_p], args=(), x0=x, lpf0=START[M], control0=(-1, -1), dxmax=dx, dlpfmax=db,
                maxsteps=1000, maxcycles=8, maxiter=20, tol=1e-8, overshoot=1.05,
            ):  # fmt: skip
                points.append(result.x)
                if len(points) > 1 and points[-1][-1] > TARGET[M] and points[-1][-1] > points[-2][-1]:
                    break
        return np.array(points)

    points = run()
    return run, points[:, :-1], points[:, -1], points[:, -1].min()


CONTESTANTS = {
    "ours": ours,
    "ours, of the model": ours_of_the_model,
    "contique, as many points": lambda M: contique(M, AS_MANY),
    "contique, longest steps": lambda M: contique(M, LONGEST),
}


def measure(name, M):
    """One warm measurement in this process: seconds, points, distance from the closed form, fold error."""
    run, states, values, fold = CONTESTANTS[name](M)
    repeats = 20
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    seconds = (time.perf_counter() - start) / repeats
    return {
        "seconds": seconds,
        "points": len(values),
        "fold error": f"{abs(fold / potts_spinodal(M, 1.0) - 1):.1e}",
        "values": [off_the_ray(M, states, values), states[-1].max() - states[np.argmin(values)].max()],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--M", type=int, choices=START, default=10, help=argparse.SUPPRESS)
    parser.add_argument("--measure", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        report(measure(arguments.measure, arguments.M))
        return
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
    names = list(CONTESTANTS)
    try:
        peers = f"contique {version('contique')}"
    except PackageNotFoundError:
        names = [name for name in names if "contique" not in name]
        peers = "contique is not installed: pip install contique"
    print(f"{peers}, numpy {version('numpy')}, scipy {version('scipy')}, {arguments.rounds} processes each")
    for M in START:
        contestants = [Contestant(name, {"measure": name, "M": M}) for name in names]
        results = run_contest("benchmarks.fold", contestants, arguments.rounds)
        for name in names:
            off, beyond = results.values(name)
            if off > ON_THE_CURVE or beyond > -0.1:
                print(f"M = {M}: {name} is off the curve by {off:.1e}, or not on the unstable arm: not timed")
                del results.rounds[name]
        print(f"M = {M}, load average {os.getloadavg()[0]:.1f}")
        results.print_table(baseline="ours", extra=("points", "fold error"))


if __name__ == "__main__":
    main()
