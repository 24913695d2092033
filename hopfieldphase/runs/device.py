"""Sweeps of many realizations on a device: as many at once as its memory takes."""

from collections.abc import Callable, Sequence
from typing import Any

from hopfieldphase.continuation.batched_sweep import bytes_per_model, sweep_batch
from hopfieldphase.continuation.sweep import Sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.device import backend_of
from hopfieldphase.model import HopfieldModel, RetrievalModel
from hopfieldphase.runs.parallel import Progress


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
    backend = backend_of(device)
    sweeps: list[Sweep] = []
    while len(sweeps) < count:
        first = len(sweeps)
        models = [_tsallis(make(first), device)]
        at_once = max(1, backend.memory // bytes_per_model(models[0]))
        models += [_tsallis(make(k), device) for k in range(first + 1, min(first + at_once, count))]

        def tell(done: int, total: int, first: int = first, size: int = len(models)) -> None:
            if progress is not None:
                progress(first + size * done // total, count)

        sweeps += sweep_batch(models, axis, backend, **options, progress=tell)
    return sweeps


def _tsallis(model: RetrievalModel, device: str) -> HopfieldModel:
    if not isinstance(model, HopfieldModel):
        raise InputError(
            f"device = {device!r} serves the Tsallis family alone: leave attention maps to device 'cpu'"
        )
    return model
