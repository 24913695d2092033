"""How well a map of point sets follows an operator between laws, against its i.i.d. sampling reference."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.bootstrap import RatioInterval, Summary, bootstrap_ratio
from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.distances import hill
from hopfieldphase.core.ensembles.operators import Family, Instance, PlaneOperator, draw_instance
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.distances import energy_distance

Floats = NDArray[np.float64]

SMALLEST = 1e-16
"""Values below it count as it in tail estimates: points of a map need not be positive."""


@dataclass(frozen=True)
class OperatorScores:
    """Distances of predicted ensembles to targets, and between targets, over independent trials.

    Attributes
    ----------
    distances : ndarray, shape (trials,)
        Energy distance of each predicted ensemble to an independent target ensemble.
    reference : ndarray, shape (trials,)
        Of two independent target ensembles, of other trials.
    tail_errors, tail_reference : ndarray, shape (trials, 2)
        Absolute differences of Hill estimates of the latent coordinates, in the same two ways.
    """

    distances: Floats
    reference: Floats
    tail_errors: Floats
    tail_reference: Floats

    def ratio(self, summary: Summary = "median", *, seed: int = 0) -> RatioInterval:
        """Summary of the distances over that of the reference, with a 95 % bootstrap interval; 1 is ideal.

        A ratio below 1 does not mean that predictions are better than targets
        (`core.distances.deterministic_mean`).
        """
        return bootstrap_ratio(self.distances, self.reference, summary, seed=seed)

    def tail_discrepancy(self, coordinate: int) -> float:
        """Energy distance (U-statistic) between the tail errors and those of the reference, equation (41).

        Its mean is zero where both have one law; it may be negative.
        """
        if coordinate not in (0, 1):
            raise InputError(f"coordinate = {coordinate}: the plane has coordinates 0 and 1")
        errors = (self.tail_errors[:, coordinate], self.tail_reference[:, coordinate])
        return energy_distance(*errors, unbiased=True)


def operator_scores(
    predict: Callable[[Floats], Floats],
    operator: type[PlaneOperator],
    family: Family = "pareto",
    *,
    n: int = 16384,
    trials: int = 128,
    fraction: float = 0.1,
    seed: int = 0,
    threads: int | None = None,
) -> OperatorScores:
    """Score a map from input to output ensembles over random instances of an operator.

    Parameters
    ----------
    predict : callable
        Takes an input ensemble of shape (n, 2), returns the output ensemble, of the same shape.
    operator : type
        `core.ensembles.ShearedSwap` or `core.ensembles.MatrixInverse`.
    family : {"pareto", "gaussian"}
    n, trials : int
        Points of an ensemble; independent instances, for the predictions and for the reference each.
    fraction : float
        Share of the points that the Hill estimates take.
    seed : int
        Trial i depends on the seed and i alone.
    threads : int, optional
        See `kernels.threads.thread_count`.

    Returns
    -------
    OperatorScores

    Raises
    ------
    InputError
        If an option is outside its domain, or a prediction has another shape, NaN or inf.

    Notes
    -----
    Equation (11), Appendix H.2 and Appendix J of "Attention Kernels for Learning Maps Between Heavy-Tailed
    Measures"; one instance at n = 16384 takes two energy distances, 5e8 square roots each.
    """
    whole_number("n", n, 2)
    k = int(real_number("fraction", fraction, 0, 1, ends="()") * n)
    if k < 1:
        raise InputError(f"fraction = {fraction:g} of n = {n} points is none: give a larger one")
    table: dict[int, list[tuple[float, Floats]]] = {0: [], 1: []}
    for pool, i in ((pool, i) for pool in table for i in range(whole_number("trials", trials, 2))):
        sequence = np.random.SeedSequence(whole_number("seed", seed, 0), spawn_key=(pool, i))
        generator = np.random.default_rng(sequence)
        instance = draw_instance(operator, family, generator)
        first = (
            _predicted(predict, instance.inputs(n, generator))
            if pool == 0
            else instance.targets(n, generator)
        )
        second = instance.targets(n, generator)
        tails = np.abs(_tail_indices(first, instance, k) - _tail_indices(second, instance, k))
        table[pool].append((energy_distance(first, second, threads=threads), tails))
    distances, errors = zip(*table[0], strict=True)
    reference, reference_errors = zip(*table[1], strict=True)
    return OperatorScores(
        np.array(distances), np.array(reference), np.array(errors), np.array(reference_errors)
    )


def _predicted(predict: Callable[[Floats], Floats], inputs: Floats) -> Floats:
    output = np.asarray(predict(inputs), dtype=np.float64)
    if output.shape != inputs.shape or not np.isfinite(output).all():
        raise InputError(
            f"a prediction has shape {output.shape} or points that are not finite: give finite points "
            f"of shape {inputs.shape}"
        )
    return output


def _tail_indices(points: Floats, instance: Instance, k: int) -> Floats:
    """Hill estimates of both latent coordinates of an output ensemble."""
    latent = points @ np.linalg.inv(instance.operator.output_matrix).T
    return np.array([hill(np.maximum(column, SMALLEST), k) for column in latent.T])
