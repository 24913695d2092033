"""The commands that most people use, each in a size at which only its compilation takes time."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from hopfieldphase.kernels.disk import on_disk


@dataclass(frozen=True)
class Usual:
    """A usual command.

    Attributes
    ----------
    command : str
        Its words after `hopfieldphase`, or the functions of Python that need the same kernels.
    kernel : str
        The outermost kernel that it calls, as ``"module:function"`` in `hopfieldphase.kernels`.
    run : callable
        Runs it once, so that all of its kernels are compiled, or read from the disk.
    """

    command: str
    kernel: str
    run: Callable[[], object]

    @property
    def is_compiled(self) -> bool:
        """Whether the machine code of its outermost kernel is on disk, for the sources of today."""
        return on_disk(self.kernel)


def _sweep_beta() -> None:
    sweeps, specs = import_module("hopfieldphase.runs.sweeps"), import_module("hopfieldphase.runs.specs")
    sweeps.warm_up(specs.SweepSpec())


def _sweep_kappa() -> None:
    kappa, specs = (import_module(f"hopfieldphase.runs.{name}") for name in ("kappa", "kappa_spec"))
    kappa.warm_up_kappa(specs.KappaSpec())


def _exact_branches() -> None:
    _branches(2.0)


def _branches_by_arclength() -> None:
    _branches(1.5)


def _branches(alpha: float) -> None:
    hp = import_module("hopfieldphase")
    model = hp.HopfieldModel(hp.patterns.clustered(6, 4), alpha)
    hp.branches(model, at=20.0, betas="10:30:10", top=2)


def _load_branches() -> None:
    hp = import_module("hopfieldphase")
    hp.branches_kappa(hp.patterns.sequence("clustered", d=8), at=0.4, kappas="0.3:0.5:0.1", beta=60, top=2)


def _weights() -> None:
    import_module("hopfieldphase").weights([0.0, 1.0], 2.0)


USUAL = (
    Usual("sweep beta", "sweep:sweep_path", _sweep_beta),
    Usual("branches beta, critical (alpha 2)", "kinks:walk", _exact_branches),
    Usual("branches beta, critical (other alpha)", "arclength:motion_jet", _branches_by_arclength),
    Usual("sweep kappa", "kappa:relax_among", _sweep_kappa),
    Usual("branches kappa", "kappa:acting_from", _load_branches),
    Usual("hp.weights, hp.entmax", "maps:_weights_rows", _weights),
)
