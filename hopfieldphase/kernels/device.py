"""Where arrays are computed: an array library with a way there and a way back."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from hopfieldphase.core.arrays import Array, Namespace
from hopfieldphase.core.errors import InputError

# What a batch may take of the memory of the processor; a GPU is asked how much is free.
HOST_BYTES = 2**30


@dataclass(frozen=True)
class Backend:
    """An array library on one device.

    Attributes
    ----------
    xp : namespace
        It follows the array API standard, with the extension `linalg`.
    name : str
        The device in words, the name of the card for a GPU.
    put, fetch : callable
        From a NumPy array to one on the device, and back.
    memory : int
        Bytes that a batch may take.
    wait : callable
        Returns once the device has done everything it was asked for.
    """

    xp: Namespace
    name: str
    put: Callable[[np.ndarray], Array]
    fetch: Callable[[Array], np.ndarray]
    memory: int = HOST_BYTES
    wait: Callable[[], object] = lambda: None


def backend_of(device: str) -> Backend:
    """The backend of "cuda": CuPy where it finds a GPU, else PyTorch.

    Raises
    ------
    InputError
        If neither library finds a GPU, or the device has another name.
    """
    if device != "cuda":
        raise InputError(f"device = {device!r} has no array library: use cuda")
    found = _cupy() or _torch_cuda()
    if found is None:
        raise InputError(
            "device = 'cuda', but neither CuPy nor PyTorch finds a CUDA GPU here: use 'cpu', or install "
            "CuPy or a CUDA build of PyTorch on a machine that has one"
        )
    return found


def numpy_like(xp: Namespace) -> Backend:
    """The backend of a library on the processor that shares memory with NumPy: NumPy, array-api-strict."""
    return Backend(xp, "cpu", xp.asarray, np.from_dlpack)


def torch_on(name: str) -> Backend:
    """The backend of PyTorch on one of its devices, "cpu" or "cuda".

    On the processor small batches are fastest with one thread, `torch.set_num_threads(1)`.
    """
    torch: Any = import_module("torch")
    xp = import_module("array_api_compat.torch")
    if name == "cpu":
        return Backend(xp, "cpu", torch.as_tensor, lambda tensor: tensor.numpy())
    return Backend(
        xp,
        torch.cuda.get_device_name(),
        lambda array: torch.as_tensor(array, device=name),
        lambda tensor: tensor.cpu().numpy(),
        torch.cuda.mem_get_info()[0] // 2,
        torch.cuda.synchronize,
    )


def _cupy() -> Backend | None:
    try:
        cupy: Any = import_module("cupy")
        if cupy.cuda.runtime.getDeviceCount() == 0:
            return None
    except Exception:  # not installed, or installed without a driver that works
        return None
    card = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    return Backend(
        import_module("array_api_compat.cupy"),
        card,
        cupy.asarray,
        cupy.asnumpy,
        cupy.cuda.runtime.memGetInfo()[0] // 2,
        lambda: cupy.cuda.Device().synchronize(),
    )


def _torch_cuda() -> Backend | None:
    try:
        torch: Any = import_module("torch")
    except ImportError:
        return None
    return torch_on("cuda") if torch.cuda.is_available() else None
