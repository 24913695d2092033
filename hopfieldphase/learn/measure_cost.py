"""What a training of maps between measures takes: memory before it starts, seconds of a step, peak memory."""

import math
import os
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.kernel_attention import DEVICE_TILE
from hopfieldphase.learn.measure_training import MeasureTraining, Run, checked_device

if sys.platform != "win32":
    import resource

GIB = 2.0**30

_TIMED = 2  # steps, after a first one that also compiles and allocates


def memory_needed(training: MeasureTraining) -> float:
    """Estimated peak memory of a training step, in bytes.

    Every block keeps 8 vectors of the width and 2 of the hidden width of each point for the derivatives; to
    these come weights, gradients and two moments, and a few tiles of scores and of distances. At the paper's
    settings it is 72 GiB and the tiles, where Table 4 has 69.4 and 78.8 GiB.
    """
    tokens = training.batch * training.points
    kept = tokens * training.blocks * (8 * training.width + 2 * training.hidden)
    tiles = 4 * min(training.batch * training.points**2, DEVICE_TILE)
    return 4.0 * (kept + 4 * training.untrained().size + tiles)


def available_memory(device: str) -> float:
    """Memory of this machine, or what is free on its GPU, in bytes; inf where it is not known."""
    if checked_device(device).type == "cuda":
        return float(torch.cuda.mem_get_info()[0])
    if sys.platform == "win32":
        return math.inf
    return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def check_memory(training: MeasureTraining, device: str = "cpu", at_once: int = 1) -> None:
    """Raise `InputError` where trainings, several at once, do not fit into the memory of the device."""
    needed, there = at_once * memory_needed(training), available_memory(device)
    if needed > there:
        several = f" for {at_once} trainings at once" if at_once > 1 else ""
        fewer = ", or set HOPFIELDPHASE_THREADS=1 to train one by one" if at_once > 1 else ""
        where = "the GPU" if device == "cuda" else "this machine"
        raise InputError(
            f"batches of {training.batch} x {training.points} points need about {needed / GIB:.0f} GiB"
            f"{several}, {where} has {there / GIB:.0f} GiB: give a smaller batch or fewer points{fewer}"
        )


def measured_step(training: MeasureTraining, device: str = "cpu") -> float:
    """Seconds of one step of a training, measured on steps that are thrown away.

    On a CPU a step takes as long as its trials together, so that one trial is enough to know.
    """
    trials = training.batch if device == "cuda" else 1
    run, seconds = Run(replace(training, batch=trials), checked_device(device)), []
    for number in range(1 + _TIMED):
        start = time.perf_counter()
        run.step(number)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:]) * training.batch / trials


def peak_memory(device: str = "cpu") -> float:
    """Most memory that this process has held so far, on the GPU if that is the device, in bytes."""
    if device == "cuda":
        return float(torch.cuda.max_memory_allocated())
    if sys.platform == "win32":
        return math.nan
    if sys.platform == "linux":  # whose getrusage starts at the peak of the process that started this one
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return 1024 * float(status.partition("VmHWM:")[2].split()[0])
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(largest if sys.platform == "darwin" else 1024 * largest)
