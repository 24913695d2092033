"""`.hp` delegates, on datasets and trees, and comes with xarray in whichever order things are imported."""

import subprocess
import sys

import pytest
import xarray as xr

from hopfieldphase.accessor import SweepAccessor
from hopfieldphase.data.build import sweep_dataset
from hopfieldphase.data.summary import dataset_hysteresis, sweep_summary


@pytest.fixture(params=["dataset", "tree"])
def sweep(request, make_sweep):
    dataset = sweep_dataset([make_sweep(3, 6), make_sweep(5, 9)], {"alpha": 2.0, "M": 30, "d": 8})
    return dataset, dataset if request.param == "dataset" else xr.DataTree(dataset)


def test_the_accessor_delegates(sweep):
    dataset, labelled = sweep
    assert isinstance(labelled.hp, SweepAccessor)
    assert labelled.hp.summary() == sweep_summary(dataset)
    assert labelled.hp.hysteresis() == dataset_hysteresis(dataset)
    assert labelled.hp.hysteresis(tolerance=0.9) == dataset_hysteresis(dataset, 0.9)
    assert labelled.hp.summary(tolerance=0.9) == sweep_summary(dataset, 0.9)


def test_the_accessor_plots_what_it_was_reached_from(sweep):
    dataset, labelled = sweep
    left, right = labelled.hp.plot()
    (up,) = [line for line in left.get_lines() if line.get_label() == "up"]
    assert (
        up.get_ydata().tolist()
        == dataset["overlap_max"].sel(direction="up").mean("realization").values.tolist()
    )
    assert labelled.hp.plot(axes=(left, right)) == (left, right)


@pytest.mark.parametrize("imports", ["import hopfieldphase, xarray", "import xarray, hopfieldphase"])
def test_it_is_there_in_both_import_orders_and_loads_no_other_library(imports):
    code = (
        f"import sys; {imports}\n"
        "for data in (xarray.Dataset(), xarray.DataTree()):\n"
        "    print(type(data.hp).__name__)\n"
        "print({'matplotlib', 'numba', 'zarr', 'scipy'} & set(sys.modules) or 'light')"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["SweepAccessor", "SweepAccessor", "light"]
