"""Figures of a sweep show the numbers of the dataset, with its labels, and stay readable in grey."""

import itertools
import math
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from hopfieldphase.data.build import sweep_dataset
from hopfieldphase.plotting.sweep import plot_overlap, plot_support, plot_sweep

OPTIONS = {"alpha": 2.0, "M": 30, "d": 8}


@pytest.fixture
def dataset(make_sweep):
    return sweep_dataset([make_sweep(3, 6), make_sweep(5, 9), make_sweep(4, 9)], OPTIONS)


@pytest.fixture
def single(make_sweep):
    return sweep_dataset(make_sweep(4, 7), OPTIONS)


def line(ax, label):
    (found,) = [line for line in ax.get_lines() if line.get_label() == label]
    return found


def words(legend):
    return " ".join([legend.get_title().get_text(), *(text.get_text() for text in legend.get_texts())])


def spans(ax):
    """Horizontal extents of the grey bands over the full height."""
    bands = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    return [(band.get_x(), band.get_x() + band.get_width()) for band in bands]


@pytest.mark.parametrize("way", ["up", "down"])
def test_the_loop_is_the_mean_over_realizations(dataset, way):
    ax = plot_overlap(dataset)
    drawn = line(ax, way)
    assert np.array_equal(drawn.get_xdata(), dataset["beta"])
    assert np.array_equal(drawn.get_ydata(), dataset["overlap_max"].sel(direction=way).mean("realization"))


def test_bands_are_one_standard_deviation(dataset):
    ax = plot_overlap(dataset)
    mean, std = (getattr(dataset["overlap_max"], name)("realization") for name in ("mean", "std"))
    for way in ("up", "down"):
        low, high = (mean - std).sel(direction=way), (mean + std).sel(direction=way)
        outlines = [band.get_paths()[0].vertices for band in ax.collections if band.get_paths()]
        edges = [{(x, y) for x, y in outline.tolist()} for outline in outlines]
        expected = {
            (x, y) for y_row in (low, high) for x, y in zip(dataset["beta"].values, y_row.values, strict=True)
        }
        assert any(expected <= edge for edge in edges)


def test_a_single_realization_has_no_band_and_says_so(single):
    ax = plot_overlap(single)
    assert np.array_equal(line(ax, "up").get_ydata(), single["overlap_max"].sel(direction="up"))
    assert "one realization" in words(ax.figure.legends[0])
    assert "s.d." not in words(ax.figure.legends[0])


def test_one_realization_of_several_draws_as_one_alone(make_sweep, single):
    listed = sweep_dataset([make_sweep(4, 7)], OPTIONS)
    for way in ("up", "down"):
        one, alone = line(plot_overlap(listed), way), line(plot_overlap(single), way)
        assert np.array_equal(one.get_xydata(), alone.get_xydata())


@pytest.mark.parametrize("plot", [plot_overlap, plot_support])
def test_windows_are_shaded_where_any_and_where_all_show_hysteresis(dataset, single, plot):
    assert spans(plot(dataset)) == [(3.0, 9.0), (5.0, 6.0)]
    assert spans(plot(single)) == [(4.0, 7.0)]


def jump_places(ax, way):
    (found,) = [
        c for c in ax.collections if isinstance(c, LineCollection) and c.get_label() == f"jumps {way}"
    ]
    return [segment[0][0] for segment in found.get_segments()], found


def test_jumps_stand_between_the_points_they_join(dataset, single):
    for data, up, down in ((dataset, [6.5, 9.5, 9.5], [2.5, 4.5, 3.5]), (single, [7.5], [3.5])):
        ax = plot_overlap(data)
        assert jump_places(ax, "up")[0] == up
        assert jump_places(ax, "down")[0] == down


def test_jumps_of_one_realization_are_thin_dotted_lines_of_full_height(single):
    _, drawn = jump_places(plot_overlap(single), "up")
    assert [segment[:, 1].tolist() for segment in drawn.get_segments()] == [[0, 1]]
    assert drawn.get_linestyles()[0][1] is not None
    assert drawn.get_linewidths()[0] < 1


def test_the_legend_explains_nothing_that_is_not_drawn(single):
    assert "jumps" in words(plot_overlap(single).figure.legends[0])
    still = single.assign(jumped=single["jumped"] & False)
    assert "jumps" not in words(plot_overlap(still).figure.legends[0])


def test_saturation_is_a_dotted_line_behind_the_sweeps(dataset):
    ax = plot_overlap(dataset)
    symbol = r"$s^2\,\mathrm{max}_\mu |\xi^\mu|^2$"
    stored = line(ax, symbol)
    assert stored.get_ydata() == pytest.approx([0.4, 0.4])
    assert stored.get_linestyle() == ":"
    order = ax.get_lines()
    assert order.index(stored) < order.index(line(ax, "up"))
    assert symbol in words(ax.figure.legends[0])


def test_arrows_point_the_way_each_sweep_went(make_sweep):
    ax = plot_overlap(sweep_dataset(make_sweep(20, 40, points=60), OPTIONS))
    arrows = [text for text in ax.texts if isinstance(text, Annotation)]
    colours = {line(ax, way).get_color(): way for way in ("up", "down")}
    directions = [(colours[a.arrowprops["color"]], a.xy[0] - a.xyann[0]) for a in arrows]
    for way, sign in (("up", 1), ("down", -1)):
        steps = [step for name, step in directions if name == way]
        assert 2 <= len(steps) <= 3
        assert all(sign * step > 0 for step in steps)


@pytest.mark.parametrize("name", ["support_size", "ipr", "threshold_count"])
@pytest.mark.parametrize("way", ["up", "down"])
def test_support_sizes_are_means_over_realizations(dataset, name, way):
    ax = plot_support(dataset)
    drawn = line(ax, f"{name} {way}")
    mean = dataset[name].sel(direction=way).mean("realization")
    assert np.array_equal(drawn.get_ydata(), mean)
    low, high = ax.get_ylim()
    assert low <= mean.min()
    assert mean.max() < high
    assert ax.get_yscale() == "symlog"


def look(drawn):
    return (drawn.get_linestyle(), getattr(drawn, "_dash_pattern", None), drawn.get_marker())


@pytest.mark.parametrize("plot", [plot_overlap, plot_support])
@pytest.mark.parametrize("data", ["dataset", "single"])
def test_any_two_lines_differ_in_more_than_colour(request, plot, data):
    lines = plot(request.getfixturevalue(data)).get_lines()
    assert len(lines) >= 3
    assert all(look(a) != look(b) for a, b in itertools.combinations(lines, 2))


def test_markers_say_the_direction_and_do_not_hide_each_other(make_sweep):
    for ax in plot_sweep(sweep_dataset(make_sweep(points=60), OPTIONS)):
        up, down = ([x for x in ax.get_lines() if x.get_marker() == marker] for marker in "^v")
        assert len(up) == len(down) > 0
        for a, b in zip(up, down, strict=True):
            assert not set(a.get_markevery()) & set(b.get_markevery())
            assert len(a.get_markevery()) == len(b.get_markevery()) >= 3


def test_labels_and_units_come_from_the_data(dataset):
    ax = plot_overlap(dataset)
    assert ax.get_xlabel() == r"inverse temperature $\beta$"
    assert ax.get_ylabel() == r"maximal overlap $z_{\max}$"
    dataset["overlap_max"].attrs = {"long_name": "order parameter $m$", "units": "mV"}
    assert plot_overlap(dataset).get_ylabel() == "order parameter $m$ (mV)"
    dataset["threshold_count"].attrs["long_name"] = "count $N_0$"
    assert "$N_0$" in words(plot_support(dataset).figure.legends[0])


def test_kappa_is_written_by_its_meaning(make_sweep):
    ax = plot_overlap(sweep_dataset(make_sweep(parameter="kappa"), OPTIONS))
    assert ax.get_xlabel() == r"memory load $\log(M)/d$"
    assert r"$\log(M)/d$ = 1 to 11, 11 values" in words(ax.figure.legends[0])


@pytest.mark.parametrize(("alpha", "written"), [(1.5, "1.5"), (2.0, "2"), (math.inf, r"\infty")])
def test_the_legend_says_what_was_computed(dataset, alpha, written):
    for ax in (
        plot_overlap(dataset.assign_attrs(alpha=alpha)),
        plot_sweep(dataset.assign_attrs(alpha=alpha))[0],
    ):
        said = words(ax.figure.legends[0])
        for part in ("$M = 30$", "$d = 8$", rf"$\alpha = {written}$", r"$\beta$ = 1 to 11", "11 values",
                     "3 realizations", r"band: $\pm$ 1 s.d.", "up", "down"):  # fmt: skip
            assert part in said


def test_given_axes_are_drawn_into_and_returned(dataset):
    figure = Figure()
    first, second = figure.subplots(1, 2)
    assert plot_overlap(dataset, first) is first
    assert plot_support(dataset, ax=second) is second
    assert figure.axes == [first, second]
    for ax in (first, second):
        assert "$M = 30$" in words(ax.get_legend())
    pair = Figure().subplots(2)
    assert plot_sweep(dataset, pair) == (pair[0], pair[1])
    assert np.array_equal(line(pair[0], "up").get_xydata(), line(first, "up").get_xydata())


def test_the_style_of_the_user_is_left_alone(dataset):
    with mpl.rc_context({"font.size": 23}):
        before = dict(mpl.rcParams)
        ax = plot_overlap(dataset)
        assert dict(mpl.rcParams) == before
    assert ax.xaxis.label.get_fontsize() < 12


@pytest.mark.parametrize(("plot", "width"), [(plot_overlap, 3.4), (plot_support, 3.4), (plot_sweep, 7.0)])
def test_new_figures_have_the_width_of_a_column_and_nothing_is_cut_off(dataset, plot, width):
    drawn = plot(dataset)
    figure = (drawn[0] if isinstance(drawn, tuple) else drawn).figure
    assert figure.get_figwidth() == width
    figure.draw_without_rendering()
    page = figure.bbox
    legend = figure.legends[0].get_window_extent()
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
        assert not box.overlaps(legend)
    assert page.x0 <= legend.x0 < legend.x1 <= page.x1
    assert page.y0 <= legend.y0


@pytest.mark.parametrize("points", [1, 2, 3])
def test_short_grids_are_drawn_in_full(make_sweep, points):
    dataset = sweep_dataset([make_sweep(1, 1, points=points), make_sweep(9, 9, points=points)], OPTIONS)
    left, right = plot_sweep(dataset)
    left.figure.draw_without_rendering()
    assert line(left, "up").get_xdata().size == points
    low, high = left.get_xlim()
    assert low <= 1 + 1e-12
    assert points - 1e-12 <= high
    assert right.get_xlim() == pytest.approx(left.get_xlim())


def test_points_without_a_value_leave_a_gap(make_sweep):
    sweep = make_sweep(points=20)
    for name in ("overlap_max", "free_energy", "ipr"):
        getattr(sweep, name)[0, 5] = np.nan
    left, right = plot_sweep(sweep_dataset(sweep, OPTIONS))
    left.figure.draw_without_rendering()
    assert np.flatnonzero(np.isnan(line(left, "up").get_ydata())).tolist() == [5]
    assert np.isfinite(right.get_ylim()).all()


def test_no_window_system_is_touched():
    code = (
        "import sys, numpy as np, hopfieldphase.plotting.sweep\n"
        "from hopfieldphase.plotting import style\n"
        "with style.style():\n"
        "    style.new_figure(style.SINGLE, 2)\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_figures_belong_to_pyplot_where_it_is_in_use(dataset):
    import matplotlib.pyplot as plt  # noqa: PLC0415

    plt.switch_backend("agg")
    try:
        ax = plot_overlap(dataset)
        assert plt.gcf() is ax.figure
    finally:
        plt.close("all")


def test_drawing_changes_nothing_in_the_data(dataset):
    before = dataset.copy(deep=True)
    plot_sweep(dataset)
    xr.testing.assert_identical(dataset, before)
