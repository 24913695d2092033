"""Figures of phase diagrams: fixed limits, what is drawn where, failed cells, both colours and grey."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from hopfieldphase.data import schema
from hopfieldphase.data.diagram import stored_lines
from hopfieldphase.plotting import style
from hopfieldphase.plotting.diagram import plot_diagram, plot_map, plot_regions
from hopfieldphase.runs.diagram import diagram
from hopfieldphase.runs.diagram_spec import diagram_spec


@pytest.fixture(scope="module")
def tree():
    spec = diagram_spec(
        "epsilon", {"generator": "equicorrelated", "M": 4, "d": 5}, 1.0,
        betas="10:60:2.5", y_values="0.05:0.45:0.1", queries=2,
    )  # fmt: skip
    return diagram(spec)


@pytest.fixture
def stepped(tree):
    """The same with one failed cell and one line as steps."""
    other = tree.copy(deep=True)
    for name in ("overlap_max", "ipr", "retrieval", "hysteresis"):
        other[name].values[0, 2, 3] = np.nan
    other["n_states"].values[0, 2, 3] = -1
    other["lines"]["step"].values[0] = True
    return other


def test_the_maps_have_fixed_limits_and_their_colours(tree):
    axes = plot_diagram(tree)
    saturation = float(tree["saturation"].max())
    meshes = [ax.collections[0] for ax in axes[1:]]
    assert [mesh.get_cmap().name for mesh in meshes] == ["viridis"] * 4 + ["RdBu_r"]
    assert meshes[0].get_clim() == (0, saturation)
    assert meshes[3].get_clim() == (0, 1)
    assert meshes[4].get_clim() == (-saturation, saturation)
    np.testing.assert_allclose(meshes[0].get_array().ravel(), tree["overlap_max"].values[0].ravel())


def test_cells_are_centred_on_their_values(tree):
    ax = plot_map(tree, "retrieval", style.new_figure(3, 3).subplots())
    corners = ax.collections[0].get_coordinates()
    np.testing.assert_allclose((corners[0, :-1, 0] + corners[0, 1:, 0]) / 2, tree["beta"])
    np.testing.assert_allclose((corners[:-1, 0, 1] + corners[1:, 0, 1]) / 2, tree["epsilon"])


def test_lines_are_those_of_the_tree_in_the_styles_of_their_kind(tree):
    ax = plot_regions(tree)
    drawn = {line.get_label(): line for line in ax.get_lines()}
    followed = [line for line in ax.get_lines() if line.get_linestyle() != ":"]
    solid = [line for line in followed if line.get_linestyle() == "-"]
    assert [line.get_linewidth() for line in solid] == [1.6]
    (coexistence,) = [line for line in stored_lines(tree) if str(line["kind"]) == "coexistence"]
    np.testing.assert_array_equal(solid[0].get_xdata(), coexistence["beta"])
    np.testing.assert_array_equal(solid[0].get_ydata(), coexistence["y"])
    colours = {to_hex(line.get_color()) for line in followed}
    assert {style.UP.lower(), style.DOWN.lower()} <= colours
    dotted = [line for line in ax.get_lines() if line.get_linestyle() == ":"]
    assert len(dotted) == tree["closed_forms"].sizes["form"]
    assert max(line.get_zorder() for line in dotted) < min(line.get_zorder() for line in followed)
    assert drawn


def test_the_legend_names_what_is_drawn_and_every_style_differs(tree):
    figure = plot_diagram(tree)[0].figure
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert {"coexistence", "spinodal, sweep up", "spinodal, sweep down", "closed form"} <= set(texts)
    assert {"mixture", "hysteresis", "retrieval"} & set(texts)
    dashes = [
        str(handle.get_linestyle()) + str(handle._unscaled_dash_pattern) for handle in legend.get_lines()
    ]
    assert len(set(dashes)) == len(dashes)  # a grey print stays readable
    assert "equicorrelated" in legend.get_title().get_text()


def test_regions_carry_their_names(tree):
    ax = plot_regions(tree)
    assert {"mixture", "hysteresis"} <= {text.get_text() for text in ax.texts}
    for text in ax.texts:
        assert ax.get_xlim()[0] < text.xy[0] < ax.get_xlim()[1]


def test_failed_cells_are_hatched_and_steps_are_steps(stepped):
    ax = plot_regions(stepped)
    hatched = [artist for artist in ax.collections if artist.get_hatch()]
    assert len(hatched) == 1
    assert np.ma.count(hatched[0].get_array()) == 1
    first = stored_lines(stepped)[0]
    assert any(len(line.get_xdata()) == 2 * len(first["y"]) for line in ax.get_lines())
    ax = plot_map(stepped, "ipr", style.new_figure(3, 3).subplots())
    assert np.ma.count_masked(ax.collections[0].get_array()) == 1


def test_labels_come_from_the_data(tree):
    ax = plot_regions(tree)
    assert ax.get_xlabel() == schema.COORDINATES["beta"].long_name
    assert ax.get_ylabel() == tree["epsilon"].attrs["long_name"]


def test_geometric_grids_get_a_logarithmic_axis():
    spec = diagram_spec("epsilon", {}, 2.5, betas="5:200:x1.5", y_values="0.2,0.4", queries=1)
    ax = plot_regions(diagram(spec))
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] < 5


def test_figures_are_saved_alike(tree, tmp_path):
    files = [style.save(plot_regions(tree).figure, tmp_path / name) for name in ("a.png", "b.png")]
    assert [file.suffix for file in files[0]] == [".png", ".svg"]
    assert files[0][1].read_bytes() == files[1][1].read_bytes()
