"""The shipped style, and figures as files."""

import struct
from importlib.resources import files

import matplotlib as mpl
import pytest
import xarray as xr
from matplotlib.colors import to_rgb
from matplotlib.font_manager import fontManager

from hopfieldphase.data.files import OutputError
from hopfieldphase.plotting import style


@pytest.fixture
def figure():
    with style.style():
        figure = style.new_figure(style.SINGLE, 2.0)
        figure.subplots().set_xlabel(r"inverse temperature $\beta$")
    return figure


def png_size(path):
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_a_figure_is_saved_as_png_of_300_dpi_and_svg_with_text(tmp_path, figure):
    written = style.save(figure, tmp_path / "figure.png")
    assert written == [tmp_path / "figure.png", tmp_path / "figure.svg"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["figure.png", "figure.svg"]
    assert png_size(written[0]) == (3.4 * 300, 2.0 * 300)
    svg = written[1].read_text(encoding="utf-8")
    assert "inverse temperature" in svg
    assert "<text" in svg


def test_pdf_comes_on_request_with_editable_fonts(tmp_path, figure):
    written = style.save(figure, tmp_path / "figure.pdf")
    assert [path.suffix for path in written] == [".png", ".svg", ".pdf"]
    pdf = written[-1].read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/Type3" not in pdf
    assert b"/TrueType" in pdf or b"/CIDFontType2" in pdf


def test_the_same_figure_gives_the_same_bytes(tmp_path, figure):
    names = ("a.pdf", "b.pdf")
    first, second = ([path.read_bytes() for path in style.save(figure, tmp_path / name)] for name in names)
    assert first == second


def test_a_folder_that_is_missing_is_one_line(tmp_path, figure):
    with pytest.raises(OutputError, match=r"cannot write .*figure\.png: .* is not a folder"):
        style.save(figure, tmp_path / "missing" / "figure.png")


def test_the_style_needs_no_font_or_program_that_does_not_come_with_matplotlib():
    with style.style():
        assert not mpl.rcParams["text.usetex"]
        shipped = {font.name for font in fontManager.ttflist if mpl.get_data_path() in font.fname}
        assert set(mpl.rcParams["font.family"]) <= shipped
        assert mpl.rcParams["svg.fonttype"] == "none"
        assert mpl.rcParams["pdf.fonttype"] == 42
        assert mpl.rcParams["figure.constrained_layout.use"]
        assert mpl.rcParams["figure.figsize"][0] == style.SINGLE
        colours = [entry["color"] for entry in mpl.rcParams["axes.prop_cycle"]]
    assert to_rgb(style.UP) == to_rgb("#" + colours[0].removeprefix("#"))
    assert to_rgb(style.DOWN) == to_rgb("#" + colours[1].removeprefix("#"))


def test_the_style_file_is_usable_by_name_of_its_path():
    path = files("hopfieldphase.plotting") / "hopfieldphase.mplstyle"
    parsed = mpl.rc_params_from_file(str(path), use_default_template=False)
    assert parsed["savefig.dpi"] == 300


@pytest.mark.parametrize(
    ("attrs", "label", "symbol"),
    [
        ({"long_name": r"free energy $\Gamma$", "units": "1"}, r"free energy $\Gamma$", r"$\Gamma$"),
        ({"long_name": "time $t$", "units": "s"}, "time $t$ (s)", "$t$"),
        ({"long_name": r"count $K_\Delta$, $\Delta = 0.01$"}, r"count $K_\Delta$, $\Delta = 0.01$",
         r"$K_\Delta$, $\Delta = 0.01$"),
        ({"long_name": "number of steps"}, "number of steps", "number of steps"),
        ({"long_name": "costs 1 $"}, "costs 1 $", "costs 1 $"),
        ({}, "a", "a"),
    ],
)  # fmt: skip
def test_labels_and_symbols(attrs, label, symbol):
    variable = xr.DataArray([1.0], name="a", attrs=attrs)
    assert style.label(variable) == label
    assert style.symbol(variable) == symbol
