"""The default sweep of one realization (382 points), side by side with how it is done elsewhere.

    python -m benchmarks.sweep [--alpha 2] [--rounds 5]

Contestants solve the same problem: M = 100 clustered patterns, d = 64, β = 20:400:2, up from the mean
pattern, down from pattern 0, each point started from its neighbour. λ_min of the Hessian belongs to the
answer of hopfieldphase and is timed with it; the peers give states only. A point is wrong where the state
is not stationary (residual above 1e-4) or λ_min ≤ 0.
"""

import argparse
import time
from importlib.metadata import version

import numpy as np

from benchmarks.contest import Contestant, report, run_contest
from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered

BETAS = np.arange(20.0, 401.0, 2.0)
STATIONARY = 1e-4


def model_of(alpha):
    return HopfieldModel(clustered(100, 64), alpha=alpha)


def warm_started(model, minimise):
    """States (2, n, d) of an up and a down sweep, each point minimised from its neighbour."""
    states = np.empty((2, BETAS.size, model.d))
    starts = model.scale * model.patterns.mean(axis=0), model.scale * model.patterns[0]
    for direction, start in enumerate(starts):
        x = start
        order = range(BETAS.size) if direction == 0 else range(BETAS.size - 1, -1, -1)
        for n in order:
            x = minimise(x, BETAS[n])
            states[direction, n] = x
    return states


def plain_weights(alpha):
    """Weights and conjugate of one row in plain NumPy, as a user would write them."""
    if alpha == 1.0:

        def weights(z, beta):
            top = z.max()
            p = np.exp(beta * (z - top))
            total = p.sum()
            return p / total, beta * top + np.log(total)
    else:

        def weights(z, beta):
            y = beta * z / 2
            ordered = np.sort(y)[::-1]
            sums = np.cumsum(ordered) - 1
            k = np.count_nonzero(ordered * np.arange(1, y.size + 1) > sums)
            p = np.maximum(y - sums[k - 1] / k, 0)
            return p, beta * (z @ p) + 1 - p @ p

    return weights


def ours(model):
    return sweep(model, BETAS, keep_states=True).state


def descent(model):
    """The paper's backtracking descent, η₀ = 0.5, tolerance 1e-7 on the relative residual."""
    patterns, s, weights = model.patterns, model.scale, plain_weights(model.alpha)

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
        return x

    return warm_started(model, minimise)


def trust_exact(model):
    """scipy.optimize.minimize, trust-exact, analytic gradient and Hessian, gtol 1e-8."""
    from scipy.optimize import minimize

    patterns, s, weights = model.patterns, model.scale, plain_weights(model.alpha)
    identity = np.eye(model.d)

    def value(x, beta):
        p, conjugate = weights(s * (patterns @ x), beta)
        return (x @ x) / 2 - conjugate / beta, x - s * (p @ patterns)

    def hessian(x, beta):
        p, _ = weights(s * (patterns @ x), beta)
        on = p > 0
        rows = patterns[on]
        w = p[on] if model.alpha == 1.0 else np.full(rows.shape[0], 0.5)
        centre = w @ rows / w.sum()
        rows = rows - centre
        return identity - beta * s**2 * (rows.T * w) @ rows

    def minimise(x, beta):
        found = minimize(
            value, x, args=(beta,), jac=True, hess=hessian, method="trust-exact", options={"gtol": 1e-8}
        )
        return found.x

    return warm_started(model, minimise)


def lbfgs(model):
    """torch.optim.LBFGS with strong Wolfe line search on Γ written with entmax (softmax at α = 1)."""
    import torch
    from entmax import sparsemax

    torch.set_num_threads(1)  # vectors of 64 numbers: more threads only cost
    patterns = torch.from_numpy(np.ascontiguousarray(model.patterns))
    s = model.scale

    def energy(x, beta):
        z = s * (patterns @ x)
        if model.alpha == 1.0:
            return (x @ x) / 2 - torch.logsumexp(beta * z, dim=0) / beta
        p = sparsemax(beta * z / 2, dim=0)
        return (x @ x) / 2 - z @ p - (1 - p @ p) / beta

    def minimise(x, beta):
        state = torch.tensor(x, requires_grad=True)
        optimiser = torch.optim.LBFGS(
            [state], lr=1.0, max_iter=200, history_size=10, tolerance_grad=1e-8, tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )  # fmt: skip

        def closure():
            optimiser.zero_grad()
            loss = energy(state, beta)
            loss.backward()
            return loss

        optimiser.step(closure)
        return state.detach().numpy().copy()

    return warm_started(model, minimise)


CONTESTANTS = {
    "hopfieldphase": ours,
    "SciPy trust-exact": trust_exact,
    "paper's descent, NumPy": descent,
    "torch + entmax + L-BFGS": lbfgs,
}


def measure(name, alpha):
    """One warm measurement in this process: seconds, wrong points and Γ at every point."""
    model = model_of(alpha)
    solve = CONTESTANTS[name]
    states = solve(model)  # compiles, imports, fills caches
    repeats = 20 if name == "hopfieldphase" else 1
    start = time.perf_counter()
    for _ in range(repeats):
        states = solve(model)
    seconds = (time.perf_counter() - start) / repeats
    wrong = 0
    for direction in range(2):
        for n, beta in enumerate(BETAS):
            x = states[direction, n]
            smallest = np.linalg.eigvalsh(model.hessian(x, beta))[0]
            wrong += bool(smallest <= 0 or model.gradient_residual(x, beta) > STATIONARY)
    energies = np.array(
        [[model.free_energy(x, b) for x, b in zip(row, BETAS, strict=True)] for row in states]
    )
    return {"seconds": seconds, "wrong": wrong, "values": energies.ravel().tolist()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--alpha", type=float, default=2.0, choices=[1.0, 2.0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    contestants = [Contestant(name, {"measure": name, "alpha": arguments.alpha}) for name in CONTESTANTS]
    if arguments.measure:
        report(measure(arguments.measure, arguments.alpha))
        return
    results = run_contest("benchmarks.sweep", contestants, arguments.rounds)
    print(f"default sweep, 382 points, alpha = {arguments.alpha:g}, {arguments.rounds} fresh processes each")
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "torch", "entmax", "numba")))
    results.print_table(baseline="hopfieldphase", extra=("wrong",))
    truth = results.values("hopfieldphase")
    for name in CONTESTANTS:
        gap = np.abs(results.values(name) - truth)
        print(f"{name}: Γ equal to 1e-6 at {np.count_nonzero(gap < 1e-6)} of {gap.size} points")


if __name__ == "__main__":
    main()
