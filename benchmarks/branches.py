"""One exact branch, and all branches of one realization, against a sweep by the paper's descent.

    python -m benchmarks.branches [--realization 0] [--rounds 5]

M = 100 clustered patterns, d = 64, α = 2. The branch is that of the state which the mean pattern relaxes to
at β = 20, followed through 20 ≤ β ≤ 400 with every event located; the descent (plain NumPy, backtracking from
η₀ = 0.5, relative residual 1e-7) starts from the same state and is warm started over the 191 values
β = 20:400:2. Compared before the times: Γ at the grid values on the branch. "all branches" finds every
minimum at β = 290 from the patterns, their mixtures and the low-β state, and follows each through the range.
"""

import argparse
import time
from importlib.metadata import version

import numpy as np

from benchmarks.contest import Contestant, report, run_contest
from benchmarks.sweep import BETAS, plain_weights
from hopfieldphase.continuation.active_set import trace
from hopfieldphase.continuation.branches import branches
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered
from hopfieldphase.solvers import relax

REFERENCE = 290.0
SAME_ENERGY = 1e-9


def start_of(model):
    return relax(model, model.scale * model.patterns.mean(axis=0), BETAS[0])


def on_grid(branch):
    """Γ at the grid values that the branch covers, NaN elsewhere."""
    return [branch.at(b).free_energy if branch.lower <= b <= branch.upper else np.nan for b in BETAS]


def exact_branch(model):
    support = start_of(model).support.tolist()

    def run():
        return trace(model, support, BETAS[0], BETAS[0], BETAS[-1])

    branch = run()
    return run, 20, len(branch.pieces), on_grid(branch)


def exact_branch_and_states(model):
    support = start_of(model).support.tolist()

    def run():
        branch = trace(model, support, BETAS[0], BETAS[0], BETAS[-1])
        return branch, on_grid(branch)

    branch, energies = run()
    return run, 10, len(branch.pieces), energies


def all_branches(model):
    def run():
        return branches(model, REFERENCE, BETAS)

    found = run()
    lowest = np.nanmin(np.array([on_grid(branch) for branch in found]), axis=0, initial=np.inf)
    lowest[~np.isfinite(lowest)] = np.nan
    return run, 3, len(found), lowest.tolist()


def descent(model):
    patterns, s, weights = model.patterns, model.scale, plain_weights(2.0)
    first = start_of(model).x

    def energy(x, beta):
        p, conjugate = weights(s * (patterns @ x), beta)
        return beta / 2 * (x @ x) - conjugate, p

    def minimise(x, beta):
        value, p = energy(x, beta)
        for _ in range(100_000):
            pull = x - s * (p @ patterns)
            if np.sqrt(pull @ pull) <= 1e-7 * max(np.sqrt(x @ x), s):
                break
            eta = 0.5
            while eta > 1e-18:
                trial = x - eta * beta * pull
                lower, q = energy(trial, beta)
                if lower <= value:
                    break
                eta /= 2
            else:
                break
            x, value, p = trial, lower, q
        return x, value

    def run():
        x, energies = first, []
        for beta in BETAS:
            x, value = minimise(x, beta)
            energies.append(value)
        return energies

    return run, 1, len(BETAS), run()


CONTESTANTS = {
    "exact branch": exact_branch,
    "exact branch, Γ at the grid values": exact_branch_and_states,
    "all branches of the realization": all_branches,
    "paper's descent, 191 points": descent,
}


def measure(name, realization):
    """One warm measurement in this process: seconds, number of pieces, branches or points, and energies."""
    model = HopfieldModel(clustered(100, 64, realization=realization), alpha=2.0)
    run, repeats, count, energies = CONTESTANTS[name](model)
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    seconds = (time.perf_counter() - start) / repeats
    return {"seconds": seconds, "parts": count, "values": energies}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--realization", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        report(measure(arguments.measure, arguments.realization))
        return
    contestants = [
        Contestant(name, {"measure": name, "realization": arguments.realization}) for name in CONTESTANTS
    ]
    results = run_contest("benchmarks.branches", contestants, arguments.rounds)
    print(
        f"M = 100, d = 64, alpha = 2, realization {arguments.realization}, {arguments.rounds} processes each"
    )
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba")))
    results.print_table(baseline="exact branch", extra=("parts",))
    exact, swept = results.values("exact branch"), results.values("paper's descent, 191 points")
    covered = np.isfinite(exact)
    equal = np.abs(exact - swept)[covered] < SAME_ENERGY * np.abs(exact[covered])
    print(f"Γ of the descent equal to that of the branch at {equal.sum()} of {covered.sum()} values on it")


if __name__ == "__main__":
    main()
