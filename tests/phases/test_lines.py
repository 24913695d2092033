"""Lines followed in two parameters: closed forms at every point, over cusps and kinks; general patterns."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from hopfieldphase.continuation.branches import follow
from hopfieldphase.core import closed_forms, patterns
from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.families import (
    Family,
    alpha_family,
    circulant_family,
    equicorrelated_family,
    noise_family,
    two_keys_family,
)
from hopfieldphase.phases.line_problems import LineKind
from hopfieldphase.phases.line_starts import LineStart, line_starts
from hopfieldphase.phases.lines import follow_line, line_problem

# What is asked of every stored point; a corner is stored as it is located, to 1e-11.
TOLERANCE = 1e-8
# A line and the end of a branch that an independent engine follows at one value of y.
INDEPENDENT = 1e-9

KEYS = (-0.5, 0.85)
EVERYWHERE = (0.05, 1e4)
VERTEX, PAIR = np.array([1.0, 0.0]), np.full(2, 0.5)


def assert_line(line, expected):
    exact = np.array([expected(y) for y in line.y])
    np.testing.assert_allclose(line.beta, exact, rtol=TOLERANCE)


def covers(line, low, high):
    return line.y.min() == pytest.approx(low, abs=1e-9) and line.y.max() == pytest.approx(high, abs=1e-9)


def names(line):
    return [point.name for point in line.special_points]


# --- two keys -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.5, 2.0, 2.5, 3.5])
def test_instability_of_two_keys(alpha):
    exact = closed_forms.two_keys_instability
    start = LineStart(LineKind.INSTABILITY, 0.3, exact(0.3, alpha) * (1 + 1e-6), (PAIR,))
    line = follow_line(two_keys_family(alpha, scale=1.0), start, KEYS, EVERYWHERE)
    assert covers(line, *KEYS)
    assert_line(line, lambda epsilon: exact(epsilon, alpha))


@pytest.mark.parametrize("alpha", [1.2, 2.0, 2.5, 3.5])
def test_storage_onset_of_two_keys(alpha):
    exact = closed_forms.two_keys_vertex
    start = LineStart(LineKind.STORAGE, 0.3, exact(0.3, alpha), (VERTEX,), (1,))
    line = follow_line(two_keys_family(alpha, scale=1.0), start, KEYS, EVERYWHERE)
    assert covers(line, *KEYS)
    assert_line(line, lambda epsilon: exact(epsilon, alpha))


@pytest.mark.parametrize("alpha", [2.0, 2.3, 2.7])
def test_coexistence_of_two_keys(alpha):
    """At α = 2 all three lines coincide and the segment between the states is flat."""
    exact = closed_forms.two_keys_coexistence
    start = LineStart(LineKind.COEXISTENCE, 0.3, exact(0.3, alpha), (VERTEX, PAIR))
    line = follow_line(two_keys_family(alpha, scale=1.0), start, KEYS, EVERYWHERE)
    assert covers(line, *KEYS)
    assert_line(line, lambda epsilon: exact(epsilon, alpha))


def test_coexistence_of_two_keys_ends_where_the_transition_becomes_continuous():
    family = alpha_family(patterns.two_keys(0.3), scale=1.0)
    start = LineStart(LineKind.COEXISTENCE, 2.5, closed_forms.two_keys_coexistence(0.3, 2.5), (VERTEX, PAIR))
    line = follow_line(family, start, (0.5, 4.0), EVERYWHERE)
    assert covers(line, 2.0, 3.0)
    assert_line(line, lambda alpha: 4 * (1 - 2 ** (1 - alpha)) / ((alpha - 1) * 0.7))


def test_lines_of_two_keys_in_alpha_pass_one_two_and_three():
    family = alpha_family(patterns.two_keys(0.3), scale=1.0)
    exact = closed_forms.two_keys_instability
    start = LineStart(LineKind.INSTABILITY, 1.5, exact(0.3, 1.5), (PAIR,))
    line = follow_line(family, start, (0.5, 4.0), EVERYWHERE, requested=[1.0, 2.0, 3.0])
    assert {1.0, 2.0, 3.0} <= set(line.y.tolist())
    assert covers(line, 0.5, 4.0)
    assert_line(line, lambda alpha: exact(0.3, alpha))
    onset = LineStart(LineKind.STORAGE, 1.5, closed_forms.two_keys_vertex(0.3, 1.5), (VERTEX,), (1,))
    line = follow_line(family, onset, (0.5, 4.0), (0.1, 100.0))
    assert names(line) == ["beta", "range"]  # it leaves the range of β before α = 1
    assert_line(line, lambda alpha: closed_forms.two_keys_vertex(0.3, alpha))


# --- equidistant patterns -----------------------------------------------------------------------------------


def ray(p, M):
    return np.array([p, *np.full(M - 1, (1 - p) / (M - 1))])


def fold_weight(M, alpha):
    found = minimize_scalar(
        lambda p: closed_forms.potts_coupling(p, M, alpha), bounds=(1 / M, 1), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    return found.x


def coexisting(M, alpha):
    coupling = closed_forms.potts_coexistence(M, alpha)
    if coupling >= closed_forms.potts_vertex(alpha):
        return ray(1.0, M)
    low = fold_weight(M, alpha) + 1e-9
    return ray(brentq(lambda p: closed_forms.potts_coupling(p, M, alpha) - coupling, low, 1 - 1e-13), M)


@pytest.mark.parametrize(("M", "alpha"), [(3, 1.0), (10, 1.0), (10, 1.25), (3, 1.5), (10, 1.5), (4, 0.8)])
def test_lines_of_equidistant_patterns_in_their_cosine(M, alpha):
    family = equicorrelated_family(M, M + 1, alpha, scale=1.0)
    span, y = (-0.05, 0.8), 0.1
    uniform = np.full(M, 1 / M)
    cases = {
        LineKind.FOLD: (closed_forms.potts_spinodal(M, alpha), (ray(fold_weight(M, alpha), M),)),
        LineKind.COEXISTENCE: (closed_forms.potts_coexistence(M, alpha), (coexisting(M, alpha), uniform)),
        LineKind.INSTABILITY: (closed_forms.potts_instability(M, alpha), (uniform,)),
    }
    for kind, (coupling, weights) in cases.items():
        line = follow_line(family, LineStart(kind, y, coupling / (1 - y), weights), span, EVERYWHERE)
        assert covers(line, *span)
        assert_line(line, lambda cosine, coupling=coupling: coupling / (1 - cosine))


@pytest.mark.parametrize("M", [3, 10])
def test_lines_of_equidistant_patterns_in_alpha(M):
    """For M = 10 the coexisting retrieval state becomes the pattern itself at V(α) = α/(α − 1): a kink."""
    family, span = alpha_family(patterns.equicorrelated(M, M), scale=1.0), (0.8, 1.9)
    fold = LineStart(LineKind.FOLD, 1.1, closed_forms.potts_spinodal(M, 1.1), (ray(fold_weight(M, 1.1), M),))
    line = follow_line(family, fold, span, EVERYWHERE)
    assert covers(line, *span)
    assert_line(line, lambda alpha: closed_forms.potts_spinodal(M, alpha))
    states = (coexisting(M, 1.1), np.full(M, 1 / M))
    crossing = LineStart(LineKind.COEXISTENCE, 1.1, closed_forms.potts_coexistence(M, 1.1), states)
    line = follow_line(family, crossing, span, EVERYWHERE)
    assert covers(line, *span)
    assert_line(line, lambda alpha: closed_forms.potts_coexistence(M, alpha))
    if M == 10:
        kink = brentq(
            lambda alpha: 2 * (1 - M ** (1 - alpha)) / ((alpha - 1) * (1 - 1 / M)) - alpha / (alpha - 1),
            1.2,
            1.6,
        )
        assert names(line) == ["range", "kink", "range"]
        assert line.special_points[1].y == pytest.approx(kink, abs=1e-9)
        assert line.special_points[1].patterns == tuple(range(1, M))
        assert [len(piece.supports[0]) for piece in line.pieces] == [M, 1]


# --- circulant patterns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 2.5])
def test_instability_of_circulant_patterns_changes_its_modes_at_a_kink(alpha):
    family = circulant_family(6, 2.0, {1: 0.4, 2: 0.5}, 1, alpha)
    beta = closed_forms.uniform_spinodal(family.gram(0.3), alpha)
    start = LineStart(LineKind.INSTABILITY, 0.3, beta, (np.full(6, 1 / 6),))
    line = follow_line(family, start, (0.1, 0.9), EVERYWHERE)
    assert covers(line, 0.1, 0.9)
    assert_line(line, lambda a: closed_forms.uniform_spinodal(family.gram(a), alpha))
    # Both modes have λ = k a²/(2 (b² + a₁² + a₂²)): equal amplitudes.
    assert names(line) == ["range", "kink", "range"]
    assert line.special_points[1].y == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("alpha", [1.5, 2.0, 2.5])
def test_storage_onset_of_circulant_patterns_changes_its_competitors_at_a_kink(alpha):
    family = circulant_family(6, 2.0, {1: 0.4, 2: 0.5}, 1, alpha)

    def onset(a):
        return closed_forms.exact_storage_onset(family.gram(a), alpha)[0]

    competitors = int(np.argmax(family.gram(0.3)[0, 1:])) + 1
    start = LineStart(LineKind.STORAGE, 0.3, onset(0.3), (np.eye(6)[0],), (competitors,))
    line = follow_line(family, start, (0.1, 0.9), EVERYWHERE)
    assert covers(line, 0.1, 0.9)
    assert_line(line, onset)
    assert names(line) == ["range", "kink", "range"]


def test_pair_of_circulant_patterns_is_a_minimum_between_its_two_lines():
    """α = 2: the pair {0, 3} lives from 2/D to 2/(1 − C₀₃); both lines end where the interval closes."""
    family = circulant_family(6, 2.0, {1: 0.4, 2: 0.5}, 1, 2.0)
    pair = np.zeros(6)
    pair[[0, 3]] = 0.5
    low, high = closed_forms.pair_interval(family.gram(0.3), 0, 3)
    upper = follow_line(family, LineStart(LineKind.INSTABILITY, 0.3, high, (pair,)), (0.1, 0.9), EVERYWHERE)
    assert_line(upper, lambda a: 2 / (1 - family.gram(a)[0, 3]))
    lower = follow_line(family, LineStart(LineKind.ENTRY, 0.3, low, (pair,), (1,)), (0.1, 0.9), EVERYWHERE)
    assert_line(lower, lambda a: closed_forms.pair_interval(family.gram(a - 1e-9), 0, 3)[0])
    closing = 0.5 * math.sqrt(1.5)
    assert upper.y.max() == pytest.approx(closing, abs=1e-6)
    assert lower.y.max() == pytest.approx(closing, abs=1e-6)


# --- cusps --------------------------------------------------------------------------------------------------


def unequal_keys(shift):
    """Softmax of two orthogonal keys of |k|² = 1 ± h, h = y + shift."""

    def sizes(y):
        return np.sqrt([1 + y + shift, 1 - y - shift])

    return Family(
        "asymmetry",
        lambda y: np.diag(sizes(y)),
        lambda y: np.diag(np.array([0.5, -0.5]) / sizes(y)),
        1.0,
        (-0.9 - shift, 0.9 - shift),
        1.0,
    )


def test_a_fold_line_passes_its_cusp():
    """Folds of 2 artanh m = b (h + m): b = 2/(1 − m²), h = (1 − m²) artanh m − m, a cusp at m = 0."""
    family, m = unequal_keys(0.1), -0.6
    y = (1 - m * m) * math.atanh(m) - m - 0.1
    start = LineStart(LineKind.FOLD, y, 2 / (1 - m * m), (np.array([1 + m, 1 - m]) / 2,))
    line = follow_line(family, start, (-0.35, 0.15), (0.1, 20.0))
    order = np.concatenate(
        [[np.subtract(*piece.weights(row)[0]) for row in range(len(piece.y))] for piece in line.pieces]
    )
    assert order[0] * order[-1] < 0  # both arms
    np.testing.assert_allclose(line.beta, 2 / (1 - order**2), rtol=TOLERANCE)
    np.testing.assert_allclose(
        line.y, (1 - order**2) * np.arctanh(order) - order - 0.1, rtol=0, atol=TOLERANCE
    )
    assert names(line) == ["range", "cusp", "range"]
    cusp = line.special_points[1]
    assert (cusp.y, cusp.beta) == pytest.approx((-0.1, 2.0), abs=TOLERANCE)


# --- general patterns ---------------------------------------------------------------------------------------


def states_beside(piece, row, model):
    """States near one of the points, moved along the soft direction and in β."""
    y, beta = float(piece.y[row]), float(piece.beta[row])
    part, weights = piece.problem.parts[0], piece.weights(row)[0]
    inner = part.equations.unknown(weights, model.gram, math.log(beta * part.unit), y)
    found = part.curvature(inner, math.log(beta * part.unit), y)
    soft = found.changes[:, 0] / np.abs(found.changes[:, 0]).max()
    for size in (1e-4, 1e-6):
        for side in (1, -1):
            for move in (0.0, 1e-3, -1e-3, 1e-4, -1e-4):
                moved = weights.copy()
                moved[found.support] += move * soft
                yield model.scale * moved @ model.patterns, beta * (1 + side * size)


@pytest.mark.parametrize(("alpha", "kinks"), [(1.0, 0), (1.5, 8), (2.0, 3)])
def test_lines_of_general_patterns_end_branches_at_other_noise(alpha, kinks):
    """In the middle of every piece a branch beside the line, followed by other means, ends on it."""
    family, betas = noise_family(16, 10, alpha), (5.0, 400.0)
    starts = [start for start in line_starts(family.model(0.04), 0.04, betas) if start.side == "down"]
    line = follow_line(family, starts[0], (0.02, 0.12), betas)
    assert names(line).count("kink") >= kinks
    for piece in line.pieces:
        row = len(piece.y) // 2
        model = family.model(float(piece.y[row]))

        def distance(x, beta, model=model, target=float(piece.beta[row])):
            try:
                ends = follow(model, x, beta, betas).special_points
            except InputError:  # too close to the critical point to tell a minimum
                return math.inf
            return min(abs(end.parameter / target - 1) for end in ends)

        assert any(distance(*beside) <= INDEPENDENT for beside in states_beside(piece, row, model))


@pytest.mark.parametrize(
    ("family", "y", "betas", "span"),
    [
        pytest.param(noise_family(40, 24, 2.0), 0.04, (5.0, 300.0), (0.01, 0.2), id="clustered"),
        pytest.param(
            circulant_family(6, 2.0, {1: 0.4, 2: 0.5}, 1, 1.0), 0.3, (1.0, 800.0), (0.1, 0.9), id="circulant"
        ),
        pytest.param(
            circulant_family(6, 2.0, {1: 0.4, 2: 0.5}, 1, 1.5), 0.3, (1.0, 800.0), (0.1, 0.9), id="alpha-1.5"
        ),
    ],
)
def test_coexistence_of_general_patterns(family, y, betas, span):
    """On every point both states are stationary minima of equal free energy, and different."""
    starts = [s for s in line_starts(family.model(y), y, betas) if s.kind is LineKind.COEXISTENCE]
    assert starts
    for start in starts:
        line = follow_line(family, start, span, betas)
        for piece in line.pieces:
            for row in range(0, len(piece.y), 5):
                model, beta = family.model(float(piece.y[row])), piece.beta[row]
                x = np.array(piece.weights(row)) @ model.patterns * model.scale
                energies = model.free_energy(x, beta)
                assert energies[0] == pytest.approx(energies[1], rel=1e-11)
                assert model.gradient_residual(x, beta).max() < 1e-10
                assert np.abs(x[0] - x[1]).max() > 1e-3 * model.scale
                assert all(np.linalg.eigvalsh(model.hessian(state, beta))[0] > -1e-8 * beta for state in x)


# --- the systems --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.8, 1.0, 1.5, 2.0, 2.5])
@pytest.mark.parametrize("kind", LineKind)
def test_the_systems_have_their_exact_derivatives(kind, alpha):
    """Central differences with a step of 1e-6 leave errors of 1e-9 relative to the largest entry."""
    if alpha <= 1 and kind in (LineKind.ENTRY, LineKind.STORAGE):
        pytest.skip("no pattern enters at alpha <= 1")
    generator = np.random.default_rng(1)
    states = generator.dirichlet(np.full(6, 5.0), size=2)
    weights = {
        LineKind.COEXISTENCE: (states[0], states[1]),
        LineKind.ENTRY: (np.array([0.3, 0.7, 0, 0, 0, 0]),),
        LineKind.STORAGE: (np.eye(6)[0],),
    }.get(kind, (states[0],))
    step = 1e-6
    for family, y in (
        (noise_family(6, 8, alpha), 0.1),
        (alpha_family(patterns.spherical(6, 8)), alpha + 1e-3),  # beside α = 2
    ):
        problem = line_problem(family, LineStart(kind, y, 5.0, weights, (2,)), (y, y + 0.01), (1.0, 100.0))
        U = problem.start + 1e-3 * generator.standard_normal(len(problem.start))
        jacobian = np.array(
            [(problem.F(U + e, y) - problem.F(U - e, y)) / (2 * step) for e in step * np.eye(len(U))]
        ).T
        slope = (problem.F(U, y + step) - problem.F(U, y - step)) / (2 * step)
        np.testing.assert_allclose(problem.F_x(U, y), jacobian, rtol=0, atol=1e-7 * np.abs(jacobian).max())
        np.testing.assert_allclose(problem.F_p(U, y), slope, rtol=0, atol=1e-7 * np.abs(slope).max())


# --- the record, and what cannot be followed ----------------------------------------------------------------


def test_at_gives_the_line_at_one_value():
    family = two_keys_family(1.5, scale=1.0)
    start = LineStart(LineKind.INSTABILITY, 0.3, closed_forms.two_keys_instability(0.3, 1.5), (PAIR,))
    line = follow_line(family, start, (0.0, 0.6), EVERYWHERE)
    np.testing.assert_allclose(line.at(0.1234), [closed_forms.two_keys_instability(0.1234, 1.5)], rtol=1e-12)
    assert line.at(0.7).size == 0
    assert [point.name for point in line.ends] == ["range", "range"]


def test_what_cannot_be_followed():
    family = two_keys_family(1.5, scale=1.0)
    start = LineStart(LineKind.INSTABILITY, 0.3, 3.0, (PAIR,))
    with pytest.raises(InputError, match="does not lie in the range"):
        follow_line(family, start, (0.4, 0.6), EVERYWHERE)
    with pytest.raises(InputError, match="outside the domain"):
        follow_line(family, start, (0.0, 1.5), EVERYWHERE)
    fold = LineStart(LineKind.FOLD, 0.3, 0.01, (np.array([0.9, 0.1]),))
    with pytest.raises(InputError, match="finds no solution"):
        follow_line(family, fold, (0.0, 0.6), EVERYWHERE)
