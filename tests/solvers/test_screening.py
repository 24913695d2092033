"""Screening equals the dense solvers: random and adversarial patterns, patterns on disk, a broken bound."""

from pathlib import Path

import numpy as np
import pytest
import zarr

import hopfieldphase as hp
from hopfieldphase.continuation import sweep as sweeping
from hopfieldphase.continuation.sweep import Sweep, sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import blocks
from hopfieldphase.core.patterns.blocks import StoredRows
from hopfieldphase.kernels import maps
from hopfieldphase.kernels.million import threshold_of
from hopfieldphase.solvers import relax, relaxation, screening
from hopfieldphase.solvers.screening import Screen, ScreeningError

# States agree where they are verified minima: to the residual that ends a relaxation, times a condition.
SAME_STATE = 1e-9
RANDOM_INSTANCES = 200
ALPHAS = (1.2, 1.5, 2.0, 3.0, float("inf"))


@pytest.fixture
def screened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Screen small models too, with few patterns at hand, read in small blocks."""
    monkeypatch.setattr(screening, "SCREENED_FROM", 1)
    monkeypatch.setattr(screening, "LEAST_POOL", 8)
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 512)


def both(model: hp.HopfieldModel, betas: np.ndarray, **options: object) -> tuple[Sweep, Sweep]:
    """The screened and the dense sweep."""
    with pytest.MonkeyPatch.context() as patch:
        one = sweep(model, betas, keep_states=True, threads=1, **options)  # type: ignore[arg-type]
        patch.setattr(sweeping, "is_screened", lambda model: False)
        other = sweep(model, betas, keep_states=True, threads=1, **options)  # type: ignore[arg-type]
    return one, other


def assert_same(one: Sweep, other: Sweep) -> None:
    for name in ("status", "jumped", "support_size", "threshold_count"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("state", "overlap_max", "ipr", "free_energy", "hessian_min"):
        ours, theirs = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(ours, theirs, rtol=SAME_STATE, atol=SAME_STATE, err_msg=name)


def random_model(number: int) -> hp.HopfieldModel:
    """Patterns of every kind, number and dimension, not always of unit norm."""
    rng = np.random.default_rng(number)
    M, d = int(rng.integers(40, 400)), int(rng.integers(3, 24))
    kind = number % 3
    if kind == 0:
        stored = hp.patterns.clustered(M, d, seed=number)
    elif kind == 1:
        stored = hp.patterns.spherical(M, d, seed=number)
    else:
        stored = hp.patterns.gaussian(M, d, seed=number) * rng.uniform(0.5, 1.5, (M, 1))
    return hp.HopfieldModel(stored, ALPHAS[number % len(ALPHAS)])


@pytest.mark.slow
def test_screening_equals_dense_on_random_instances(screened: None) -> None:
    for number in range(RANDOM_INSTANCES):
        model = random_model(number)
        betas = np.geomspace(2, 60, 8) * model.d
        starts = {"start_down": f"pattern:{number % model.M}"}
        assert_same(*both(model, betas, **starts))


def sphere(M: int, d: int, seed: int) -> np.ndarray:
    return hp.patterns.spherical(M, d, seed=seed)


def late(M: int, d: int, last: float) -> np.ndarray:
    """One pattern that reaches the threshold of the retrieval state of pattern 0 just at the last β."""
    stored = sphere(M, d, 5)
    stored[:, 0] = 0.0
    stored[0] = np.eye(d)[0]
    stored[1] = np.eye(d)[0] * (1 - 2 * d / last * 1.0001) + np.eye(d)[1] * 0.3
    return stored


ADVERSARIAL = {
    "duplicates": np.repeat(sphere(30, 8, 0), 6, axis=0),
    "one pattern many times": np.repeat(sphere(1, 6, 1), 90, axis=0),
    "antipodal": np.concatenate([sphere(80, 8, 2), -sphere(80, 8, 2)]),
    "ties at the threshold": np.concatenate(
        [np.eye(12), np.eye(12)[:, ::-1], 0.5 * np.eye(12), sphere(60, 12, 3)]
    ),
    "a huge outlier": np.concatenate([1e3 * sphere(1, 8, 4), sphere(150, 8, 5)]),
    "many sizes": sphere(200, 8, 6) * np.geomspace(1e-3, 1e2, 200)[:, None],
    "tiny patterns": 1e-6 * sphere(150, 8, 7),
    "orthogonal to the path": np.concatenate([np.eye(16)[:8], np.tile(np.eye(16)[8:], (20, 1))]),
    "late": late(120, 8, 480.0),
    "d = 1": np.linspace(-1, 1, 80)[:, None],
    "d = 1, one sign": np.linspace(0.5, 1, 90)[:, None],
    "M = 1": sphere(1, 8, 8),
    "M = 2": sphere(2, 8, 9),
    "a simplex": np.eye(40) - 1 / 40,
    "a line": np.outer(np.linspace(0.1, 1, 120), sphere(1, 8, 10)[0]),
    "a plane": sphere(150, 2, 11) @ sphere(2, 8, 12),
    "hypercube": np.array(np.meshgrid(*[[-1.0, 1.0]] * 7)).reshape(7, -1).T / 7**0.5,
    "integers": np.random.default_rng(13).integers(-2, 3, (150, 5)) + np.eye(5)[0] * 0.5,
    "heavy tails": hp.patterns.heavy_tailed(200, 8, 0.7, seed=14),
    "close pairs": np.concatenate([sphere(70, 8, 15), sphere(70, 8, 15) + 1e-9]),
}


def test_there_are_twenty_adversarial_instances() -> None:
    assert len(ADVERSARIAL) == 20


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_screening_equals_dense_on_adversarial_instances(screened: None, name: str) -> None:
    stored = ADVERSARIAL[name]
    size = float(np.median(np.linalg.norm(stored, axis=1)))
    for alpha in (1.5, 2.0, 3.0):
        model = hp.HopfieldModel(stored, alpha)
        betas = np.geomspace(3, 60, 9) * model.d / size**2
        assert_same(*both(model, betas))


@pytest.mark.parametrize("solver", ["fixed-point", "gradient-descent"])
def test_every_solver_can_be_screened(screened: None, solver: str) -> None:
    model = hp.HopfieldModel(hp.patterns.clustered(300, 16, seed=1))
    assert_same(*both(model, np.geomspace(60, 400, 8), solver=solver))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_relax_equals_the_dense_relaxation(
    screened: None, monkeypatch: pytest.MonkeyPatch, alpha: float
) -> None:
    model = hp.HopfieldModel(hp.patterns.clustered(500, 12, seed=2), alpha)
    starts = [model.scale * model.patterns[0], model.scale * model.patterns.mean(axis=0), np.ones(12)]
    ours = [relax(model, x, 120.0) for x in starts]
    monkeypatch.setattr(relaxation, "is_screened", lambda model: False)
    for one, x in zip(ours, starts, strict=True):
        other = relax(model, x, 120.0)
        assert one.status is other.status
        assert one.threshold == pytest.approx(other.threshold, nan_ok=True)
        for name in ("x", "weights", "overlaps", "free_energy", "hessian_min"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=SAME_STATE, abs=SAME_STATE)


def test_few_patterns_are_touched_and_all_others_lie_below_the_threshold() -> None:
    model = hp.HopfieldModel(hp.patterns.heavy_tailed(60_000, 16, seed=3))
    reach = screening.reaches(model)
    screen = Screen(model, reach)
    x = screening.relax_screened(model, reach, 200.0, model.patterns[7] / 4, _options()).x
    problem = screen.refer(x, 200.0)
    assert len(problem.patterns) < model.M / 20
    z = model.overlaps(x)
    theta = float(maps.threshold(z, 2.0, 200.0))
    left = np.setdiff1d(np.arange(model.M), screen.rows)
    height, slope, radius = problem.left_out.chords[0]
    for seed in range(20):  # no overlap rises above the bound, anywhere within the radius
        step = np.random.default_rng(seed).standard_normal(16)
        step *= radius * (seed + 1) / 20 / np.linalg.norm(step)
        moved = model.overlaps(x + step)[left].max()
        assert moved <= height + slope * np.linalg.norm(step) + 1e-15
    assert height < theta


def _options() -> object:
    from hopfieldphase.solvers.options import solver_options  # noqa: PLC0415

    return solver_options("auto", None, None, True, np.float64)


def test_a_corrupted_bound_is_caught_by_the_certificate(
    screened: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = hp.HopfieldModel(hp.patterns.clustered(400, 16, seed=4))
    betas = np.geomspace(60, 400, 12)
    sweep(model, betas)
    monkeypatch.setattr(sweeping, "reaches", lambda model, threads=None: np.full(model.M, 1e-9))
    with pytest.raises(ScreeningError, match="above the threshold"):
        sweep(model, betas)
    monkeypatch.setattr(relaxation, "reaches", lambda model: np.full(model.M, 1e-9))
    with pytest.raises(ScreeningError, match="above the threshold"):
        relax(model, model.scale * model.patterns[1], 60.0)


def test_results_do_not_depend_on_the_number_of_threads(screened: None) -> None:
    model = hp.HopfieldModel(hp.patterns.clustered(700, 16, seed=5))
    betas = np.geomspace(60, 400, 12)
    one, two = (sweep(model, betas, keep_states=True, threads=n) for n in (1, 2))
    for name in ("state", "overlap_max", "ipr", "free_energy", "hessian_min", "threshold_count", "n_steps"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("beta", [1e-3, 1.0, 50.0, 1e4, 1e300])
def test_threshold_from_a_histogram(alpha: float, beta: float) -> None:
    rng = np.random.default_rng(6)
    rows = (
        rng.standard_normal(5000),
        np.round(rng.standard_normal(5000), 1),  # ties
        np.zeros(700),
        rng.standard_cauchy(5000),
        np.array([3.0]),
    )
    for z in rows:
        found = threshold_of(z, alpha, beta, np.empty(2 * z.size))
        expected = z.max() if np.isinf(alpha) else maps.threshold(z, alpha, beta)
        assert found == pytest.approx(float(expected), rel=1e-13, abs=1e-13)


@pytest.mark.slow  # kernels are compiled once more for arrays that cannot be written
@pytest.mark.parametrize("kind", ["npy", "npy float32", "zarr", "zarr float32"])
def test_patterns_on_disk(screened: None, tmp_path: Path, kind: str) -> None:
    stored = hp.patterns.clustered(600, 16, seed=7)
    if "float32" in kind:
        stored = stored.astype(np.float32)
    if kind.startswith("npy"):
        np.save(tmp_path / "big.npy", stored)
        source = np.load(tmp_path / "big.npy", mmap_mode="r")
    else:
        source = zarr.create_array(
            tmp_path / "big.zarr", shape=stored.shape, chunks=(64, 16), dtype=stored.dtype
        )
        source[:] = stored
    betas = np.geomspace(60, 400, 8)
    model = hp.HopfieldModel(source)
    assert isinstance(model.patterns, StoredRows) == kind.startswith("zarr")
    expected = sweep(hp.HopfieldModel(stored), betas, keep_states=True)
    found = sweep(model, betas, keep_states=True)
    for name in ("state", "free_energy", "threshold_count", "duplicates", "pattern_norms"):
        # Compiled once more for arrays that cannot be written, sums may be rounded otherwise.
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-14)
    state = relax(model, model.scale * stored[3].astype(float), 200.0)
    assert state.status.is_minimum
    np.testing.assert_allclose(model.overlaps(state.x), state.overlaps, atol=1e-6)


def test_rows_on_disk_are_refused_as_a_whole_where_they_exceed_the_memory(
    screened: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = zarr.create_array(tmp_path / "big.zarr", shape=(300, 8), chunks=(50, 8), dtype="f8")
    source[:] = hp.patterns.clustered(300, 8, seed=8)
    model = hp.HopfieldModel(source)
    for module in (blocks, screening):
        monkeypatch.setattr(module, "memory", lambda: 300 * 8 * 7)
    with pytest.raises(InputError, match="block by block"):
        model.overlaps(np.ones(8))
    with pytest.raises(InputError, match="choose larger beta"):
        relax(model, model.scale * source[:].mean(axis=0), 1e-3)
    assert relax(model, model.scale * source[0], 400.0).status.is_minimum


def test_the_whole_is_never_read_at_once(screened: None, tmp_path: Path) -> None:
    class Watched:
        """Patterns on disk that remember the largest request."""

        def __init__(self, rows: np.ndarray) -> None:
            self.rows, self.shape, self.dtype, self.chunks, self.most = rows, rows.shape, rows.dtype, (64,), 0

        def __getitem__(self, rows: slice) -> np.ndarray:
            part = self.rows[rows]
            self.most = max(self.most, part.size)
            return part

    source = Watched(hp.patterns.clustered(800, 16, seed=9))
    sweep(hp.HopfieldModel(source), np.geomspace(100, 400, 6))
    assert 0 < source.most <= blocks.BLOCK_SIZE
