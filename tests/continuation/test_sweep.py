"""Warm-started sweeps: laws on small systems, the paper's data at full size."""

import numpy as np
import pytest

from hopfieldphase.continuation.sweep import ascending_axis, sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered
from hopfieldphase.solvers import relax

UP, DOWN = 0, 1


def paper_sweeps(alpha, betas, realizations=10, **options):
    return [
        sweep(HopfieldModel(clustered(100, 64, realization=r, **options), alpha=alpha), betas)
        for r in range(realizations)
    ]


@pytest.fixture(scope="module")
def small():
    return HopfieldModel(clustered(40, 16, seed=2), alpha=2.0)


BETAS = np.arange(10.0, 120.0, 1.5)


@pytest.mark.parametrize("alpha", [0.8, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("solver", ["auto", "fixed-point"])
def test_every_point_is_a_verified_minimum(small, alpha, solver):
    model = HopfieldModel(small.patterns, alpha=alpha)
    result = sweep(model, BETAS, solver=solver, keep_states=True)
    assert (result.status == Status.CONVERGED).all()
    for direction in (UP, DOWN):
        for n in range(0, BETAS.size, 9):
            x, beta = result.state[direction, n], BETAS[n]
            assert model.gradient_residual(x, beta) < 1e-11
            smallest = np.linalg.eigvalsh(model.hessian(x, beta))[0] / beta
            assert result.hessian_min[direction, n] == pytest.approx(smallest, abs=1e-9)
            assert smallest > 0
            p = model.weights(x, beta)
            assert result.ipr[direction, n] == pytest.approx(1 / np.sum(p**2), rel=1e-10)
            assert result.overlap_max[direction, n] == pytest.approx(np.abs(model.overlaps(x)).max())
            assert result.support_size[direction, n] == np.count_nonzero(p > (1e-10 if alpha == 1 else 0))
            assert result.threshold_count[direction, n] == np.count_nonzero(model.overlaps(x) > 0.01)


def test_up_sweep_equals_the_point_by_point_relaxation(small):
    result = sweep(small, BETAS, keep_states=True)
    x = small.scale * small.patterns.mean(axis=0)
    for n, beta in enumerate(BETAS):
        x = relax(small, x, beta).x
        if n and np.linalg.norm(x - result.state[UP, n]) > 1e-9:
            # past an instability the two may fall into different minima, but never silently
            assert result.jumped[UP, : n + 1].any()
            break


def test_down_sweep_is_the_up_sweep_of_the_reversed_grid(small):
    # β → c/β reverses the axis: the same states are visited in the same order.
    start = small.scale * small.patterns[0]
    ends = sweep(small, BETAS, start_up=start, start_down="continue", keep_states=True)
    back = sweep(small, BETAS, start_up="continue", start_down=ends.state[UP, -1], keep_states=True)
    np.testing.assert_allclose(ends.state[DOWN], back.state[DOWN], atol=1e-12)


@pytest.mark.parametrize(
    ("alpha", "betas"),
    [
        (2.0, BETAS),
        # Coarse steps; the one up to 33.2 at α = 3 jumps to where its prediction pointed by chance.
        (1.0, np.linspace(10, 120, 20)),
        (1.5, np.linspace(10, 120, 20)),
        (3.0, np.linspace(10, 120, 20)),
    ],
)
def test_jumps_stand_where_relaxing_back_does_not_return(alpha, betas):
    patterns = clustered(40, 16, seed=2) if alpha == 2 else clustered(30, 16, seed=0)
    model = HopfieldModel(patterns, alpha=alpha)
    result = sweep(model, betas, keep_states=True)
    for direction, step in ((UP, -1), (DOWN, 1)):
        order = range(1, betas.size) if direction == UP else range(betas.size - 1)
        for n in order:
            before = result.state[direction, n + step]
            back = relax(model, result.state[direction, n], betas[n + step]).x
            returned = np.linalg.norm(back - before) <= 1e-6 * max(np.linalg.norm(before), model.state_scale)
            assert result.jumped[direction, n] == (not returned), (direction, n)
    if alpha == 3:
        assert result.jumped.any()


@pytest.mark.parametrize("start", ["mean", "pattern:3", "best", "continue"])
def test_named_starts(small, start):
    result = sweep(small, BETAS, start_up=start, keep_states=True)
    assert result.start_up == start
    assert (result.status == Status.CONVERGED).all()
    if start == "best":
        lowest = min(
            relax(small, small.scale * row, BETAS[0]).free_energy for row in np.asarray(small.patterns)
        )
        assert result.free_energy[UP, 0] == pytest.approx(lowest, abs=1e-12)
    if start == "continue":
        np.testing.assert_allclose(result.state[UP, 0], result.state[DOWN, 0], atol=1e-12)


def test_one_value_and_threads(small):
    one = sweep(small, [50.0])
    assert one.overlap_max.shape == (2, 1)
    assert not one.jumped.any()
    a = sweep(small, BETAS, threads=1, keep_states=True)
    b = sweep(small, BETAS, threads=2, keep_states=True)
    np.testing.assert_array_equal(a.state, b.state)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([], "at least one"),
        ([3.0, 2.0], "ascending"),
        ([1.0, 1.0], "ascending"),
        ([-1.0, 1.0], "positive"),
        ([1.0, np.nan], "positive"),
    ],
)
def test_axis_is_checked(values, word):
    with pytest.raises(InputError, match=word):
        ascending_axis(values, "betas")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"start_up": "pattern:40"}, "0 to 39"),
        ({"start_up": "patern:1"}, "unknown"),
        ({"start_up": "continue", "start_down": "continue"}, "start"),
        ({"start_down": np.ones(3)}, "shape"),
    ],
)
def test_starts_are_checked(small, options, word):
    with pytest.raises(InputError, match=word):
        sweep(small, BETAS, **options)


# ---- the paper's data, M = 100, d = 64, ten realizations (Figures 2 and 3) ----

PAPER_BETAS = np.arange(20.0, 401.0, 2.0)


def test_sparse_hysteresis_of_figure_2():
    sweeps = paper_sweeps(2.0, PAPER_BETAS)
    overlap = np.array([s.overlap_max for s in sweeps])
    count = np.array([s.threshold_count for s in sweeps])
    ipr = np.array([s.ipr for s in sweeps])
    assert all((s.status == Status.CONVERGED).all() for s in sweeps)
    assert (count[:, :, 0] == 0).all()
    # one exactly stored pattern: z_max = s²|ξ|² = 1/64, the same in every realization
    np.testing.assert_allclose(ipr[:, :, -1], 1, atol=1e-12)
    np.testing.assert_allclose(overlap[:, :, -1], 1 / 64, atol=1e-9)
    window = (PAPER_BETAS >= 220) & (PAPER_BETAS <= 300)
    gain = (overlap[:, DOWN] - overlap[:, UP]).mean(axis=0)[window]
    assert gain.max() > 0.0005


def test_dense_sweep_of_figure_3_is_reversible():
    sweeps = paper_sweeps(1.0, PAPER_BETAS)
    overlap = np.array([s.overlap_max for s in sweeps])
    assert all((s.support_size == 100).all() for s in sweeps)
    np.testing.assert_allclose(overlap[:, UP], overlap[:, DOWN], rtol=1e-8)
    mean, spread = overlap[:, UP].mean(axis=0), overlap[:, UP].std(axis=0)
    assert (np.diff(mean) > 0).all()
    assert (np.diff(spread[::10]) > 0).all()


def test_unit_noise_reading_never_leaves_its_cluster():
    sweeps = paper_sweeps(2.0, PAPER_BETAS[PAPER_BETAS <= 300], realizations=3, noise="unit")
    ipr = np.array([s.ipr[:, -1] for s in sweeps])
    assert ((ipr > 24) & (ipr < 26)).all()


@pytest.mark.slow
def test_softmax_hysteresis_beyond_the_range_of_the_paper():
    betas = np.arange(20.0, 1601.0, 4.0)
    sweeps = paper_sweeps(1.0, betas)
    gap = np.array([np.abs(s.free_energy[UP] - s.free_energy[DOWN]) for s in sweeps])
    at = {beta: gap[:, np.flatnonzero(betas == beta)[0]] for beta in (300.0, 640.0, 1500.0)}
    assert np.count_nonzero(at[640.0] > 1e-3) >= 9
    assert (at[300.0] < 1e-3).all()
    assert (at[1500.0] < 1e-3).all()
