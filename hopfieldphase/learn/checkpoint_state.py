"""The state of a training in a file, from which a killed run goes on to the last bit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hopfieldphase import __version__
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.files import replacing


def save_state(
    path: Path,
    training: Mapping[str, Any],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    record: Mapping[str, Tensor],
) -> None:
    """Write the state of a training; a process that is killed meanwhile leaves the file as it was.

    Parameters
    ----------
    path : Path
    training : mapping
        Every option that determines the trained model.
    model, optimizer
    record : mapping of Tensor
        What the steps so far have given, like their losses.

    Raises
    ------
    OutputError
        If the file system refuses.
    """
    state = {
        "made_by": _made_by(training),
        "record": dict(record),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    with replacing(path) as partial:
        torch.save(state, partial)


def read_state(path: Path, training: Mapping[str, Any]) -> dict[str, Any] | None:
    """The state that `save_state` wrote for this training, or None where there is no file.

    Raises
    ------
    InputError
        If the file is damaged, or the state of another training or of another version of this package or of
        PyTorch: nothing of it is used, and it is not replaced.
    """
    if not path.exists():
        return None
    what = "remove it to begin anew, or choose another folder"
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
        made_by_there = dict(state["made_by"])
    except Exception as error:  # whatever reading damaged bytes comes to
        raise InputError(f"{path} is no state of a training, or damaged: {what}") from error
    made_by = _made_by(training)
    for name in sorted(made_by.keys() | made_by_there.keys()):
        there, here = made_by_there.get(name), made_by.get(name)
        if there != here:
            raise InputError(
                f"{path} is the state of another training, with {name} = {there} and not {here}: {what}"
            )
    return state


def restore_state(
    path: Path, training: Mapping[str, Any], model: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Bring model and optimizer to the state in a file and return its record; empty where there is no file.

    Errors as `read_state`.
    """
    state = read_state(path, training)
    if state is None:
        return {}
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["record"]


def _made_by(training: Mapping[str, Any]) -> dict[str, Any]:
    return dict(training) | {"hopfieldphase": __version__, "torch": str(torch.__version__)}
