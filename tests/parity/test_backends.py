"""Sweeps on every array library against the compiled ones, by value: minima, observables, jumps, events."""

import json
import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.continuation.batched_kappa import kappa_batch
from hopfieldphase.continuation.batched_sweep import sweep_batch
from hopfieldphase.continuation.kappa import kappa_sweep
from hopfieldphase.continuation.load import LoadEvents
from hopfieldphase.continuation.sweep import Sweep, sweep
from hopfieldphase.core import entmax
from hopfieldphase.core.attention.selection import TopK
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import batched, device
from hopfieldphase.kernels.batched_steps import Batch, evaluate
from hopfieldphase.kernels.batched_weights import weights
from hopfieldphase.kernels.relax import FIXED_POINT, GRADIENT_DESCENT, NEWTON
from hopfieldphase.runs import device as runs_device
from hopfieldphase.runs.folder import MARKER, claim_folder
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.sweep_results import compute_result

torch = pytest.importorskip("torch")

# A descent that is finished by Newton steps ends at the minimum to rounding, about 1e-15 of the state, on
# every backend; observables are well conditioned functions of it but for λ_min, which may lose three digits
# near a spinodal. float32 patterns are computed with in float64, from a looser tolerance (6e-6), with one
# Newton step after: the square of that is left, times the curvature.
TOLERANCE = {"float64": 1e-11, "float32": 1e-6}
COUNTS = ("support_size", "threshold_count", "status", "jumped")
VALUES = ("free_energy", "overlap_max", "ipr", "hessian_min")
BACKENDS = ("numpy", "array-api-strict", "torch")
ALPHAS = (1.0, 1.5, 2.0, 3.0)


@pytest.fixture(autouse=True)
def one_thread():
    """Small batches on many threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def backend(name: str) -> device.Backend:
    if name == "torch":
        return device.torch_on("cpu")
    return device.numpy_like(np if name == "numpy" else array_api_strict)


# M, d, realization, values of β: a few hundred steps of descent, and a jump.
RANGES = {
    1.0: (10, 6, 3, np.linspace(12.0, 60.0, 5)),
    1.5: (10, 6, 3, np.linspace(12.0, 60.0, 5)),
    2.0: (12, 8, 2, np.linspace(16.0, 40.0, 7)),
    3.0: (12, 8, 1, np.linspace(16.0, 72.0, 7)),
}


def stored(M: int, d: int, alpha: float, realization: int = 0, dtype: str = "float64") -> hp.HopfieldModel:
    patterns = hp.patterns.clustered(M, d, seed=0, realization=realization)
    return hp.HopfieldModel(patterns.astype(dtype), alpha)


def models(count: int, M: int, d: int, alpha: float) -> list[hp.HopfieldModel]:
    return [stored(M, d, alpha, realization) for realization in range(count)]


def assert_equal(found: Sweep, expected: Sweep, tolerance: float) -> None:
    for name in COUNTS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in VALUES:
        value = getattr(expected, name)
        np.testing.assert_allclose(
            getattr(found, name), value, rtol=tolerance, atol=tolerance * np.abs(value).max(), err_msg=name
        )


def assert_same_events(found: LoadEvents, expected: LoadEvents, tolerance: float) -> None:
    for name in ("M", "pattern", "jumped"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in ("free_energy_before", "free_energy_after", "overlap_max_before", "overlap_max_after"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=tolerance, atol=tolerance, err_msg=name
        )


def check_beta(name: str, alpha: float, dtype: str) -> None:
    """The paper's descent through a jump."""
    M, d, realization, axis = RANGES[alpha]
    model = stored(M, d, alpha, realization, dtype)
    options: dict[str, Any] = {"solver": "gradient-descent", "keep_states": True}
    expected = sweep(model, axis, **options, threads=1)
    (found,) = sweep_batch([model], axis, backend(name), **options)
    # Patterns rounded to float32 are others: at α = 3 that jump is none.
    assert expected.jumped.any() or dtype == "float32"
    assert_equal(found, expected, TOLERANCE[dtype])
    np.testing.assert_allclose(found.state, expected.state, atol=TOLERANCE[dtype])


def check_kappa(name: str, alpha: float, dtype: str) -> None:
    axis, d = [0.15, 0.2, 0.22], 12
    model = stored(round(math.exp(axis[-1] * d)), d, alpha, 1, dtype)
    beta = 60.0 if alpha == 1 else 45.0
    expected = kappa_sweep(model, axis, beta, solver="gradient-descent", threads=1)
    (found,) = kappa_batch([model], axis, beta, backend(name), solver="gradient-descent")
    assert_equal(found.sweep, expected.sweep, TOLERANCE[dtype])
    for events, known in zip(found.events, expected.events, strict=True):
        assert_same_events(events, known, TOLERANCE[dtype])
        # At α = 3 these patterns join without touching the state.
        assert alpha in (1, 3) or known.M.size > 0


@pytest.mark.parametrize("alpha", ALPHAS)
def test_beta_sweep_on_numpy(alpha):
    check_beta("numpy", alpha, "float64")


def test_beta_sweep_on_torch():
    check_beta("torch", 1.5, "float64")


def test_kappa_sweep_on_numpy():
    check_kappa("numpy", 2.0, "float64")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("name", BACKENDS)
def test_beta_sweep_everywhere(name, alpha, dtype):
    check_beta(name, alpha, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("name", BACKENDS)
def test_kappa_sweep_everywhere(name, alpha, dtype):
    check_kappa(name, alpha, dtype)


@pytest.mark.parametrize("alpha", [0.3, 1 - 1e-9, 1, 1 + 1e-9, 1.25, 1.5, 1.9, 2, 2.5, 7, math.inf])
@pytest.mark.parametrize("name", BACKENDS)
def test_fixed_numbers_of_steps_give_the_weights(name, alpha):
    """Against the routines that stop when rounding does; hard laws, absent patterns, ties."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(8, 200))
    z[1] *= 1e-3
    z[2] *= 1e4
    z[3] = 0.2
    z[4] = rng.integers(0, 5, 200)
    z[5] = 1 - 0.5 ** np.arange(200)
    z[6] = rng.standard_cauchy(200)
    z[7, 3:] = -np.inf
    beta = np.array([1, 2, 300, 0.1, 3, 4, 1e-3, 2.0])[:, None]
    at = backend(name)
    with np.errstate(all="ignore"):
        p, theta = weights(at.xp, at.put(z), at.put(z.max(axis=-1, keepdims=True)), alpha, at.put(beta))
    expected = np.stack([entmax.weights(row, alpha, float(b)) for row, b in zip(z, beta[:, 0], strict=True)])
    level = [entmax.threshold(row, alpha, float(b)) for row, b in zip(z, beta[:, 0], strict=True)]
    np.testing.assert_allclose(at.fetch(p), expected, rtol=0, atol=2e-14)
    np.testing.assert_allclose(at.fetch(theta)[:, 0], level, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("solver", ["auto", "fixed-point"])
def test_other_solvers_reach_the_same_minima(solver):
    """Where no jump is: at α = 2 between 3.5 and 4 the minima of these patterns move on their supports."""
    group = models(2, 12, 8, 2.0)
    axis = np.linspace(56.0, 60.0, 4)
    found = sweep_batch(group, axis, backend("numpy"), solver=solver, start_up="pattern:1")
    for one, model in zip(found, group, strict=True):
        assert_equal(
            one, sweep(model, axis, solver=solver, start_up="pattern:1", threads=1), TOLERANCE["float64"]
        )


def test_a_sweep_that_continues_the_other_one():
    group = models(2, 12, 8, 2.0)
    axis = np.linspace(16.0, 56.0, 4)
    found = sweep_batch(group, axis, backend("numpy"), start_down="continue")
    for one, model in zip(found, group, strict=True):
        assert_equal(one, sweep(model, axis, start_down="continue", threads=1), TOLERANCE["float64"])
        assert one.start_down == "continue"


@pytest.mark.parametrize("name", BACKENDS)
def test_a_saddle_on_a_symmetry_line_is_left(name):
    """Two keys: the equal mixture is stationary for every β, and above b = 2/(1 − ε) a saddle."""
    patterns = hp.patterns.two_keys(0.5, 6)
    model = hp.HopfieldModel(patterns, 2.0)
    at = backend(name)
    mixture = at.put((model.scale * patterns.mean(axis=0))[None, None])
    beta, length = at.put(np.array([[36.0]])), at.put(np.array([[model.state_scale]]))
    batch = Batch(at.xp, at.put(patterns[None]), None, model.scale, 2.0, beta, length)
    literal = batched.relax(batch, mixture, GRADIENT_DESCENT, 1e-7, 1000, False)
    left = batched.relax(batch, mixture, GRADIENT_DESCENT, 1e-12, 1000, True)
    assert hp.Status(int(literal.status[0, 0])) is hp.Status.SADDLE_NOT_ESCAPED
    assert hp.Status(int(left.status[0, 0])) is hp.Status.CONVERGED
    assert float(left.inner[0, 0]) == pytest.approx(1.0)
    assert float(at.xp.max(left.states.p)) == 1.0


class Watched:
    """NumPy arrays that refuse to be looked at: no bool, float, int, item, or indexing by their values."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    @property
    def ndim(self) -> int:
        return self.values.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def __getitem__(self, key: Any) -> "Watched":
        return Watched(self.values[key])

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("the host waits for the device inside an iteration")

    __bool__ = __float__ = __int__ = __index__ = __iter__ = __len__ = __array__ = item = tolist = _refuse


def _bare(value: Any) -> Any:
    if isinstance(value, Watched):
        return value.values
    return [_bare(item) for item in value] if isinstance(value, (list, tuple)) else value


def _operator(name: str) -> Any:
    def apply(self: Watched, *others: Any) -> Watched:
        result = getattr(self.values, name)(*map(_bare, others))
        return result if result is NotImplemented else Watched(result)

    return apply


_OPERATORS = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "pow", "rpow", "neg",
    "abs", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "invert",
)  # fmt: skip
for _name in _OPERATORS:
    setattr(Watched, f"__{_name}__", _operator(f"__{_name}__"))


class WatchedNamespace:
    """NumPy on watched arrays."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        if not callable(value) or isinstance(value, type):
            return value

        def call(*arguments: Any, **options: Any) -> Any:
            return Watched(value(*map(_bare, arguments), **options))

        return call


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.3, 1.5, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("method", [GRADIENT_DESCENT, FIXED_POINT, NEWTON])
def test_no_iteration_waits_for_the_device(method, alpha):
    """All iterations of a chunk run on arrays that cannot be looked at, and move the states as on NumPy."""
    model = stored(8, 5, alpha)
    x0 = model.scale * model.patterns[None, :2] * 0.9

    def run(xp: Any, put: Any) -> Any:
        length, beta = put(np.array([[model.state_scale]])), put(np.array([[20.0]]))
        batch = Batch(xp, put(model.patterns[None]), None, model.scale, alpha, beta, length)
        states = evaluate(batch, put(x0))
        zeros = np.zeros((1, 2))
        start = batched.Run(
            put(zeros.astype(int) + batched.RUNNING), put(zeros.astype(int)), put(zeros.astype(int)),
            states.residual, put(zeros + 1.0),
        )  # fmt: skip
        with np.errstate(all="ignore"):
            return batched.chunk(batch, states, start, method, 1e-12, 100)

    plain, _ = run(np, np.asarray)
    watched, _ = run(WatchedNamespace(), Watched)
    np.testing.assert_array_equal(watched.x.values, plain.x)
    assert np.abs(plain.x - x0).max() > 0


def test_the_spy_would_see_a_look():
    with pytest.raises(AssertionError, match="waits for the device"):
        bool(WatchedNamespace().any(Watched([True])))


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(device, "_cupy", lambda: None)
    monkeypatch.setattr(device, "_torch_cuda", lambda: None)


def test_without_a_gpu_one_line_says_so(no_gpu):
    with pytest.raises(
        InputError, match=r"neither CuPy nor PyTorch finds a CUDA GPU here: use 'cpu'"
    ) as caught:
        hp.sweep_beta(stored(5, 4, 2.0), [10.0, 20.0], device="cuda")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="finds a CUDA GPU"):
        hp.sweep_kappa(hp.patterns.sequence("clustered", d=8), "0.2:0.3:0.1", device="cuda")
    with pytest.raises(InputError, match="has no array library"):
        hp.sweep_beta(stored(5, 4, 2.0), [10.0, 20.0], device="gpu")


@pytest.fixture
def torch_as_gpu(monkeypatch):
    """Everything above the kernels, with PyTorch on the processor in the place of a GPU."""
    monkeypatch.setattr(runs_device, "backend_of", lambda name: device.torch_on("cpu"))


def test_datasets_of_a_device_are_those_of_the_processor(torch_as_gpu):
    group, grid = models(2, 8, 6, 2.0), "12:36:12"
    told: list[tuple[int, int]] = []
    found = hp.sweep_beta(group, grid, device="cuda", progress=lambda *news: told.append(news))
    expected = hp.sweep_beta(group, grid)
    assert found.attrs["device"] == "cuda"
    assert expected.attrs == found.attrs | {"device": "cpu"}
    assert found.sizes == expected.sizes
    for name in (*COUNTS, *VALUES):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-11, atol=1e-11)
    assert told[-1] == (2, 2)
    spec = SweepSpec(alpha=2, betas=grid, realizations=2, device="cuda", patterns={"M": 8, "d": 6})
    np.testing.assert_allclose(hp.sweep_beta(spec)["free_energy"], expected["free_energy"], rtol=1e-11)


def test_loads_on_a_device_are_those_of_the_processor(torch_as_gpu):
    sequence = hp.patterns.sequence("clustered", d=8)
    found = hp.sweep_kappa(sequence, "0.2:0.3:0.05", 30.0, device="cuda")
    expected = hp.sweep_kappa(sequence, "0.2:0.3:0.05", 30.0)
    assert found.attrs["device"] == "cuda"
    for name in ("M", "jump_M", *COUNTS, *VALUES):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-11, atol=1e-11)


def test_provenance_names_the_card(torch_as_gpu, tmp_path):
    for name in ("cpu", "cuda"):
        spec = SweepSpec(alpha=2, betas="12,24", realizations=1, device=name, patterns={"M": 8, "d": 6})
        with claim_folder(tmp_path / name):
            compute_result(spec, tmp_path / name)
    records = [json.loads((tmp_path / name / MARKER).read_text()) for name in ("cpu", "cuda")]
    assert [record.get("device") for record in records] == [None, device.torch_on("cpu").name]


def test_other_attention_maps_stay_on_the_processor(torch_as_gpu):
    model = hp.HopfieldModel(hp.patterns.clustered(8, 6), attention=TopK(3))
    with pytest.raises(InputError, match="serves the Tsallis family alone"):
        hp.sweep_beta(model, [10.0, 20.0], device="cuda")
