"""Phase diagrams as trees: what they hold, and that files give them back."""

import json

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.data import diagram, store
from hopfieldphase.phases.diagram import ClosedLine, DiagramLine, DiagramLines
from hopfieldphase.phases.line_problems import LineKind
from hopfieldphase.phases.lines import LinePoint
from hopfieldphase.phases.maps import Row

YS, BETAS = [0.1, 0.2], [1.0, 2.0, 4.0]


def row(shift: float, failed: int | None = None) -> Row:
    values = np.array([0.25, 0.5, 1.0]) + shift
    states, status = np.array([1, 3, 2]), np.zeros(3, dtype=np.int8)
    tables = {name: values.copy() for name in ("overlap_max", "ipr", "retrieval", "hysteresis")}
    if failed is not None:
        states[failed], status[failed] = -1, Status.ITERATION_LIMIT
        for table in tables.values():
            table[failed] = np.nan
    return Row(**tables, n_states=states, status=status, saturation=1.0)


def line(kind: LineKind, side: str, points: int, step: bool = False) -> DiagramLine:
    y = np.linspace(0.1, 0.2, points)
    ends = (LinePoint("range", 0.1, 1.5), LinePoint("cusp", 0.15, 2.0), LinePoint("curvature", 0.2, 2.5))
    return DiagramLine(kind, side, 10 * y, y, np.arange(points) % 2 == 1, step, ends)


LINES = (
    line(LineKind.FOLD, "down", 4),
    line(LineKind.COEXISTENCE, "", 7),
    line(LineKind.ENTRY, "up", 3, True),
)
CLOSED = (ClosedLine("storage onset", np.array(YS), np.array([3.0, np.nan])),)


@pytest.fixture
def tree() -> xr.DataTree:
    rows = [[row(0.0), row(1.0, failed=1)], [row(2.0), row(3.0)]]
    found = DiagramLines(LINES, ("a line was not followed",))
    return diagram.diagram_tree(
        "epsilon", YS, BETAS, rows, found, CLOSED, {"alpha": 2.0, "generator": "two_keys"}
    )


def test_maps_lie_at_the_root_over_named_cell_centres(tree):
    root = tree.to_dataset()
    assert dict(root.sizes) == {"realization": 2, "epsilon": 2, "beta": 3}
    assert root["overlap_max"].dims == ("realization", "epsilon", "beta")
    np.testing.assert_array_equal(root["epsilon"], YS)
    assert root.attrs["cells"] == "coordinates are cell centres"
    assert root.attrs["alpha"] == 2.0
    for name, variable in root.variables.items():
        assert variable.attrs["long_name"], name
    assert float(root["overlap_max"].sel(realization=1, epsilon=0.2, beta=4.0)) == 4.0


def test_failed_cells_are_visible(tree):
    root = tree.to_dataset()
    failed = root.isel(realization=0, epsilon=1, beta=1)
    assert np.isnan([failed[name] for name in ("overlap_max", "ipr", "retrieval", "hysteresis")]).all()
    assert failed["n_states"] == -1
    assert failed["status"] == Status.ITERATION_LIMIT
    assert diagram.diagram_summary(tree)["failed_cells"] == [
        {"realization": 0, "epsilon": 0.2, "beta": 2.0, "status": "iteration_limit"}
    ]


def test_lines_come_back_one_by_one(tree):
    for stored, made in zip(diagram.stored_lines(tree), LINES, strict=True):
        assert (stored["kind"], stored["side"], stored["step"]) == (made.kind, made.side, made.step)
        for name in ("beta", "y", "continuous"):
            np.testing.assert_array_equal(stored[name], getattr(made, name))
    points = tree["special_points"].to_dataset()
    meanings = points["what"].attrs["flag_meanings"].split()
    assert [meanings[i] for i in points["what"].values[:3]] == ["range", "cusp", "curvature"]
    np.testing.assert_array_equal(points["line_number"], np.repeat([0, 1, 2], 3))


@pytest.mark.parametrize("name", ["d.zarr", "d.nc"])
def test_files_give_the_same_tree_back(tree, tmp_path, name):
    store.write(tree, tmp_path / name)
    again = store.open(tmp_path / name)
    assert isinstance(again, xr.DataTree)
    xr.testing.assert_identical(again, tree)


def test_a_diagram_without_lines_is_one_too(tmp_path):
    tree = diagram.diagram_tree("kappa", YS, BETAS, [[row(0.0), row(1.0)]], DiagramLines((), ()), (), {})
    store.write(tree, tmp_path / "d.zarr")
    again = store.open(tmp_path / "d.zarr")
    assert diagram.stored_lines(again) == []
    assert diagram.diagram_summary(again)["lines"] == []


def test_incomplete_diagrams_are_refused(tree, tmp_path):
    def broken(change):
        other = tree.copy()
        change(other)
        with pytest.raises(InputError) as error:
            store.write(other, tmp_path / "d.zarr")
        return str(error.value)

    assert "group /lines is missing" in broken(lambda t: t.__delitem__("lines"))
    assert "schema version 99" in broken(lambda t: t.attrs.update(schema_version=99))
    assert "second axis" in broken(lambda t: t.attrs.update(parameter="beta"))
    assert "map ipr is missing" in broken(lambda t: t.__delitem__("ipr"))
    short = xr.DataArray([1, 1, 1], dims="line")
    assert "group /lines is incomplete" in broken(lambda t: t["lines"].__setitem__("count", short))


def test_the_summary_is_plain_json(tree):
    summary = diagram.diagram_summary(tree)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["cells"] == 12
    assert summary["maps"]["n_states"] == [1.0, 3.0]
    assert summary["lines"][0]["beta"] == [1.0, 2.0]
    assert summary["line_failures"] == ["a line was not followed"]
    text = "\n".join(diagram.diagram_lines(summary))
    assert "11 of 12 cells" in text
    assert "fold of the down sweep's state: 4 points" in text
