"""Every study by its name: the class of its options, and the function that measures."""

import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopfieldphase.core.errors import InputError, shown
from hopfieldphase.runs.library import shipped_results, study_files
from hopfieldphase.runs.spec_base import TomlSpec, nearest, read_toml

if TYPE_CHECKING:
    import xarray as xr

    from hopfieldphase.runs.parallel import Progress
    from hopfieldphase.runs.results import Draw


@dataclass(frozen=True)
class Study:
    """Where the parts of a study stand, as ``"module:name"`` below `hopfieldphase`.

    The modules of one study have one name: `runs.NAME_spec` has its options, `runs.NAME` measures
    (``NAME(spec)``), `data.NAME` has ``NAME_summary`` and ``NAME_lines``, `plotting.NAME` has ``plot_NAME``.
    Where `own` is given it measures; where `resumed` is given it measures and writes, from what an
    interrupted run has left in the folder.
    """

    room: str
    spec: str
    own: str = ""
    resumed: str = ""

    @property
    def measure(self) -> str:
        """From a resolved spec to labelled data."""
        return self.own or f"runs.{self.room}:{self.room}"

    @property
    def summary(self) -> str:
        """From labelled data to plain values."""
        return f"data.{self.room}:{self.room}_summary"

    @property
    def lines(self) -> str:
        """From plain values to words."""
        return f"data.{self.room}:{self.room}_lines"

    @property
    def plot(self) -> str:
        """From labelled data to the axes of a figure."""
        return f"plotting.{self.room}:plot_{self.room}"


STUDIES: dict[str, Study] = {
    "sweep-beta": Study("sweep", "runs.specs:SweepSpec", "runs.sweeps:sweep_beta"),
    "sweep-kappa": Study("sweep", "runs.kappa_spec:KappaSpec", "runs.kappa:sweep_kappa_tree"),
    "grid": Study("grid", "runs.grid_spec:GridSpec", resumed="runs.grid:compute_grid"),
    "branches": Study("branches", "runs.branch_spec:BranchSpec", "runs.branches:branches_tree"),
    "branches-kappa": Study(
        "load_branches", "runs.load_branch_spec:LoadBranchSpec", "runs.load_branches:load_branches_tree"
    ),
    "branches-map": Study("map_branches", "runs.map_branches_spec:MapBranchesSpec"),
    "phase-diagram": Study("diagram", "runs.diagram_spec:DiagramSpec"),
    "structure-beta": Study("structure", "runs.structure_spec:StructureSpec"),
    "structure-kappa": Study("structure", "runs.structure_spec:LoadStructureSpec"),
    "two-keys": Study("validation", "runs.validation_spec:TwoKeysSpec"),
    "supports": Study("validation", "runs.validation_spec:SupportsSpec"),
    "stability": Study("stability", "runs.stability_spec:StabilitySpec"),
    "thermal": Study("thermal", "runs.thermal_spec:ThermalSpec"),
    "loops": Study("loops", "runs.loops_spec:LoopsSpec"),
    "order": Study("order", "runs.order_spec:OrderSpec"),
    "large-d": Study("large_d", "runs.large_d_spec:LargeDSpec"),
    "barrier": Study("barrier", "runs.barrier_spec:BarrierSpec"),
    "escape": Study("escape", "runs.escape_spec:EscapeSpec"),
    "tail-sensitivity": Study(
        "tail_sensitivity", "runs.tail_sensitivity_spec:TailSensitivitySpec",
        resumed="runs.tail_sensitivity:compute_tail_sensitivity",
    ),
    "integrability": Study("integrability", "runs.integrability_spec:IntegrabilitySpec"),
    "kernel-collapse": Study("kernel_collapse", "runs.kernel_collapse_spec:KernelCollapseSpec"),
    "simplex-maps": Study("simplex_maps", "runs.simplex_maps_spec:SimplexMapsSpec"),
    "dispersion": Study("dispersion", "runs.dispersion_spec:DispersionSpec"),
    "regression": Study("regression", "runs.regression_spec:RegressionSpec"),
    "smoothness": Study("smoothness", "runs.smoothness_spec:SmoothnessSpec"),
    "heads": Study(
        "heads", "runs.heads_spec:HeadsSpec", "learn.head_study:heads", "learn.head_study:compute_heads"
    ),
    "capacity": Study(
        "capacity", "runs.capacity_spec:CapacitySpec", "learn.capacity_study:capacity",
        "learn.capacity_study:compute_capacity",
    ),
    "temperature": Study(
        "temperature", "runs.temperature_spec:TemperatureSpec", "learn.temperature_study:temperature",
        "learn.temperature_study:compute_temperature",
    ),
    "operators": Study(
        "operators", "runs.operators_spec:OperatorsSpec", "learn.operator_study:operators",
        "learn.operator_study:compute_operators",
    ),
}  # fmt: skip


def load(name: str) -> Any:
    """What ``"module:name"`` stands for."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"hopfieldphase.{module}"), attribute)


def read_spec(path: str | Path, *, reduced: bool = False) -> TomlSpec:
    """The spec of a study file.

    Parameters
    ----------
    path : path-like
    reduced : bool
        See `TomlSpec.from_toml`.

    Raises
    ------
    InputError
        Where the file cannot be read, names no study or an unknown one, or holds an unknown key.
    """
    options = read_toml(path, reduced=reduced)
    name, known = options.get("study"), tuple(STUDIES)
    if name not in known:
        what = "no study" if name is None else f"the unknown study {shown(name)}{nearest(name, known)}"
        raise InputError(f"{path} names {what}: known are {', '.join(known)}")
    return load(STUDIES[name].spec)(**options)


def study(
    source: str | Path | TomlSpec, *, reduced: bool = False, progress: "Progress | None" = None
) -> "xr.Dataset | xr.DataTree":
    """Run a study and return its labelled data, without writing anything.

    Where the result of a study file of the package comes with it, as those of long trainings do, that is
    returned.

    Parameters
    ----------
    source : str, path-like or spec
        The name of a study file that comes with the package (like "figure-2"), the path of another one, or
        the options themselves.
    reduced : bool
        Take the quick setting of the file.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    xarray.Dataset or xarray.DataTree
        `.hp.plot()` draws it, `.hp.summary()` says what it shows.

    Raises
    ------
    InputError
        If there is no such study, or its options are wrong.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> keys = hp.study("figure-16", reduced=True)
    >>> float(abs(keys["coexistence"] / keys["formula"] - 1).max()) < 1e-13
    True
    """
    if isinstance(source, TomlSpec):
        spec = source
    else:
        from hopfieldphase.data import store  # noqa: PLC0415  # xarray, when data is asked for

        known = study_files()
        if not reduced and str(source) in (shipped := shipped_results()):
            return store.open(shipped[str(source)])
        path = known.get(str(source), Path(source))
        if not path.exists():
            names = tuple(known)
            raise InputError(
                f"{source} is no file and no study of the package{nearest(source, names)}: "
                f"known are {', '.join(names)}"
            )
        spec = read_spec(path, reduced=reduced)
    measure = load(STUDIES[spec.study].measure)
    return measure(spec) if progress is None else measure(spec, progress=progress)


def compute(
    spec: TomlSpec, path: Path, *, draw: "Draw[Any] | None" = None, progress: "Progress | None" = None
) -> dict[str, Any]:
    """Run a study and write its result folder.

    Parameters
    ----------
    spec : TomlSpec
        Resolved.
    path : Path
        A folder that this process holds (`runs.folder.claim_folder`).
    draw : callable, optional
        Called as ``draw(data, file)`` to write the figure to the PNG file `file`.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    dict
        The content of `summary.json`.

    Raises
    ------
    InputError
        If the options turn out to be wrong.
    OutputError
        If the file system refuses; nothing of the result is left then.
    """
    from hopfieldphase.runs.results import write_result  # noqa: PLC0415  # the files of a result, when needed

    entry = STUDIES[spec.study]
    if entry.resumed:
        return load(entry.resumed)(spec, path, draw=draw, progress=progress)
    start = time.perf_counter()
    data = load(entry.measure)(spec, progress=progress)
    seconds = time.perf_counter() - start
    return write_result(spec, path, load(entry.summary)(data), seconds, data, draw)
