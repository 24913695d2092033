"""Sweeps of many realizations on a device: as many at once as its memory takes."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hopfieldphase.continuation.batched_kappa import kappa_batch
from hopfieldphase.continuation.batched_sweep import bytes_per_model, sweep_batch
from hopfieldphase.continuation.kappa import KappaSweep
from hopfieldphase.continuation.sweep import Sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.device import Backend, backend_of
from hopfieldphase.model import HopfieldModel, RetrievalModel
from hopfieldphase.runs.parallel import Progress

Swept = TypeVar("Swept")


def device_facts(device: str) -> dict[str, str]:
    """What provenance says of a device: the name of the card; nothing of the processor."""
    return {} if device == "cpu" else {"device": backend_of(device).name}


def sweep_on_device(
    make: Callable[[int], RetrievalModel],
    count: int,
    axis: Sequence[float],
    options: dict[str, Any],
    device: str,
    progress: Progress | None,
) -> list[Sweep]:
    """Sweep β for the models make(0) … make(count − 1) on a device, each made when its turn comes.

    Raises
    ------
    InputError
        If there is no such device, or a model has another attention map than the Tsallis family.
    """

    def sweep(models: Sequence[HopfieldModel], backend: Backend, tell: Progress) -> list[Sweep]:
        return sweep_batch(models, axis, backend, **options, progress=tell)

    return _in_groups(sweep, make, count, backend_of(device), progress, count)


def sweep_kappa_on_device(
    make: Callable[[int], HopfieldModel],
    count: int,
    axis: Sequence[float],
    beta: float,
    options: dict[str, Any],
    device: str,
    progress: Progress | None,
) -> list[KappaSweep]:
    """Sweep the memory load likewise, at β."""

    def sweep(models: Sequence[HopfieldModel], backend: Backend, tell: Progress) -> list[KappaSweep]:
        return kappa_batch(models, axis, beta, backend, **options, progress=tell)

    return _in_groups(sweep, make, count, backend_of(device), progress, 2 * count)


def _in_groups(
    sweep: Callable[[Sequence[HopfieldModel], Backend, Progress], list[Swept]],
    make: Callable[[int], RetrievalModel],
    count: int,
    backend: Backend,
    progress: Progress | None,
    units: int,
) -> list[Swept]:
    """Sweep as many models together as fit; progress is told in units of which all models make `units`."""
    sweeps: list[Swept] = []
    while len(sweeps) < count:
        first = len(sweeps)
        models = [_tsallis(make(first))]
        at_once = max(1, backend.memory // bytes_per_model(models[0]))
        models += [_tsallis(make(k)) for k in range(first + 1, min(first + at_once, count))]

        def tell(done: int, total: int, first: int = first, size: int = len(models)) -> None:
            if progress is not None:
                progress((first * total + size * done) * units // (count * total), units)

        sweeps += sweep(models, backend, tell)
    return sweeps


def _tsallis(model: RetrievalModel) -> HopfieldModel:
    if not isinstance(model, HopfieldModel):
        raise InputError(
            "device = 'cuda' serves the Tsallis family alone: leave other attention maps to device 'cpu'"
        )
    return model
