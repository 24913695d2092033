"""Maps of a phase diagram, its lines as a whole, and that the cells beside a line agree with it."""

import numpy as np
import pytest

from hopfieldphase.core import closed_forms, patterns
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.diagram import closed_lines, diagram_lines, stepped_lines
from hopfieldphase.phases.families import circulant_family, equicorrelated_family, two_keys_family
from hopfieldphase.phases.line_problems import LineKind
from hopfieldphase.phases.maps import Queries, map_row

# A cell beside a line, relative in β: far enough for a state to be told from a critical point.
BESIDE = 1e-3
QUERIES = Queries(count=4, noise=0.1)


def states_beside(model, beta):
    row = map_row(model, [beta * (1 - BESIDE), beta * (1 + BESIDE)], QUERIES, threads=1)
    assert (row.status == Status.CONVERGED).all()
    return row.n_states.tolist()


def test_cells_beside_the_lines_of_two_keys_agree_with_them():
    """2 < α < 3: the vertices appear (two more states), later the mixture vanishes (one less)."""
    family = two_keys_family(2.5, scale=1.0)
    found = diagram_lines(family, (0.0, 0.8), (0.5, 20.0))
    lines = {line.kind: line for line in found.lines}
    assert set(lines) == {LineKind.INSTABILITY, LineKind.STORAGE, LineKind.COEXISTENCE}
    assert found.failures == ()
    assert not lines[LineKind.INSTABILITY].continuous.any()
    for row in (3, 30):
        for kind, expected in ((LineKind.STORAGE, [1, 3]), (LineKind.INSTABILITY, [3, 2])):
            model = family.model(float(lines[kind].y[row]))
            assert states_beside(model, float(lines[kind].beta[row])) == expected
        model = family.model(float(lines[LineKind.COEXISTENCE].y[row]))
        beta = float(lines[LineKind.COEXISTENCE].beta[row])
        ipr = map_row(model, [beta * (1 - BESIDE), beta * (1 + BESIDE)], QUERIES, threads=1).ipr
        np.testing.assert_allclose(ipr, [2.0, 1.0], rtol=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_cells_beside_the_lines_of_equidistant_patterns_agree_with_them(alpha):
    """M retrieval states appear at the fold, the uniform one vanishes at its instability."""
    M = 4
    family = equicorrelated_family(M, 5, alpha, scale=1.0)
    lines = {line.kind: line for line in diagram_lines(family, (0.0, 0.6), (0.5, 40.0)).lines}
    for row in (3, 25):
        for kind, expected in ((LineKind.FOLD, [1, M + 1]), (LineKind.INSTABILITY, [M + 1, M])):
            line = lines[kind]
            assert states_beside(family.model(float(line.y[row])), float(line.beta[row])) == expected


@pytest.mark.parametrize(("alpha", "expected"), [(1.0, [4, 3]), (2.0, [1, 3])])
def test_cells_beside_the_instability_of_circulant_patterns_agree_with_it(alpha, expected):
    """At α = 1 three states on pairs are there before; at α = 2 they take over from the uniform one."""
    family = circulant_family(6, 2.0, {1: 0.4, 2: 0.5}, 1, alpha)
    lines = diagram_lines(family, (0.2, 0.4), (1.0, 100.0)).lines
    uniform = next(line for line in lines if line.kind is LineKind.INSTABILITY)
    for row in (0, len(uniform.y) // 2):
        model, beta = family.model(float(uniform.y[row])), float(uniform.beta[row])
        np.testing.assert_allclose(beta, closed_forms.uniform_spinodal(model.gram, alpha), rtol=1e-8)
        assert states_beside(model, beta) == expected


def test_continuous_transitions_are_told_from_jumps():
    for alpha, continuous in ((1.0, True), (1.5, True), (2.5, False), (3.5, True)):
        lines = diagram_lines(two_keys_family(alpha, scale=1.0), (0.0, 0.5), (0.5, 20.0)).lines
        (line,) = [line for line in lines if line.kind is LineKind.INSTABILITY]
        assert (line.continuous == continuous).all()


def test_every_line_is_followed_once():
    found = diagram_lines(equicorrelated_family(3, 3, 1.0, scale=1.0), (0.0, 0.7), (0.5, 40.0))
    kinds = [line.kind for line in found.lines]
    assert sorted(kinds) == sorted({LineKind.INSTABILITY, LineKind.FOLD, LineKind.COEXISTENCE})
    assert {line.kind: line.side for line in found.lines} == {
        LineKind.INSTABILITY: "up", LineKind.FOLD: "down", LineKind.COEXISTENCE: "",
    }  # fmt: skip


def test_stepped_lines_are_exact_for_every_number_of_patterns():
    xi = patterns.spherical(12, 6, seed=1)
    sizes = range(4, 13)
    ys = np.log(sizes) / 6
    found = stepped_lines([HopfieldModel(xi[:M], 2.0) for M in sizes], ys.tolist(), (1.0, 300.0))
    onset = next(line for line in found.lines if line.kind is LineKind.STORAGE)
    assert onset.step
    np.testing.assert_array_equal(onset.y, ys)
    for M, beta in zip(sizes, onset.beta, strict=True):
        gram = HopfieldModel(xi[:M], 2.0).gram
        assert beta == pytest.approx(closed_forms.exact_storage_onset(gram, 2.0)[0], rel=1e-12)


def test_closed_forms_that_apply():
    def names(models):
        return {line.name for line in closed_lines(models, range(len(models)))}

    keys = [HopfieldModel(patterns.two_keys(0.3), alpha) for alpha in (1.5, 2.5)]
    assert names(keys) == {"storage onset", "instability", "coexistence"}
    assert names(keys[:1]) == {"storage onset", "instability"}
    assert names([HopfieldModel(patterns.equicorrelated(4, 6, 0.2), 1.0)]) == {
        "instability", "spinodal", "coexistence",
    }  # fmt: skip
    assert names([HopfieldModel(patterns.spherical(5, 6), 2.0)]) == {"storage onset"}
    model = HopfieldModel(patterns.equicorrelated(4, 6, 0.2), 1.25)
    line = {line.name: line.beta[0] for line in closed_lines([model], [0.0])}
    assert line["spinodal"] == pytest.approx(closed_forms.potts_spinodal(4, 1.25) * 6 / 0.8, rel=1e-12)


def test_a_row_far_from_any_transition():
    model = HopfieldModel(patterns.equicorrelated(4, 4, 0.0), 1.5, 1.0)
    row = map_row(model, [1.0, 30.0], Queries(count=12, noise=0.2, seed=3))
    assert row.n_states.tolist() == [1, 4]
    np.testing.assert_allclose(row.ipr, [4.0, 1.0], rtol=1e-9)
    np.testing.assert_allclose(row.overlap_max, [0.25, 1.0], rtol=1e-9)
    assert row.retrieval.tolist() == [0.0, 1.0]
    np.testing.assert_allclose(row.hysteresis, 0.0, atol=1e-9)
    assert row.saturation == 1.0


def test_hysteresis_is_down_minus_up():
    model = HopfieldModel(patterns.equicorrelated(10, 10, 0.0), 1.0, 1.0)
    inside = (closed_forms.potts_spinodal(10, 1.0) + closed_forms.potts_instability(10, 1.0)) / 2
    row = map_row(model, [2.0, inside, 20.0], QUERIES)
    assert row.hysteresis[1] > 0.5
    np.testing.assert_allclose(row.hysteresis[[0, 2]], 0, atol=1e-9)


def test_queries_are_of_the_stated_noise_and_the_same_in_every_cell():
    model = HopfieldModel(3 * patterns.spherical(5, 400, seed=2), 2.0)
    asked, states = Queries(count=7, noise=0.5, seed=1).draw(model)
    assert sorted(asked[:5].tolist()) == [0, 1, 2, 3, 4]
    distances = np.linalg.norm(states / model.scale - model.patterns[asked], axis=1)
    np.testing.assert_allclose(distances, 0.5 * 3, rtol=0.15)  # |g|/√d = 1 ± 1/√(2d), d = 400
    np.testing.assert_array_equal(states, Queries(count=7, noise=0.5, seed=1).draw(model)[1])


def test_more_noise_means_less_retrieval():
    model = HopfieldModel(patterns.spherical(20, 16, seed=0), 2.0)
    rates = [map_row(model, [200.0], Queries(32, noise)).retrieval[0] for noise in (0.0, 1.0, 3.0)]
    assert rates[0] == 1.0
    assert rates[0] > rates[1] > rates[2]


def test_a_mixture_of_similar_patterns_retrieves_neither():
    """At ε = 0.9 the mixture has 0.95 of the overlap of a key with itself, and half of the weight."""
    keys = patterns.two_keys(0.9)
    row = map_row(HopfieldModel(keys, 2.0, 1.0), [10.0, 30.0], Queries(8, 0.0))  # coexistence at 20
    assert row.retrieval.tolist() == [0.0, 1.0]


def test_bad_queries():
    with pytest.raises(InputError, match="queries"):
        Queries(count=0)
    with pytest.raises(InputError, match="query_noise"):
        Queries(noise=-1.0)
