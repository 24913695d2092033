"""Grids by one process, two, and Dask; what batches and checkpoints cost: python -m benchmarks.executors.

Every number is a ratio within one run. Times are those from the first sweep to the last, workers started; the
time that starting takes is told beside them.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from hopfieldphase.runs.executors import Executor, Processes, make_executor
from hopfieldphase.runs.grid import compute_grid
from hopfieldphase.runs.grid_spec import GridSpec
from hopfieldphase.runs.sweeps import spec_model, spec_sweep


def long_sweeps(tasks: int) -> GridSpec:
    """Sweeps of a second or more each."""
    base = {"betas": "20:400:2", "alpha": 1.0, "patterns": {"M": 6000, "d": 128}}
    return GridSpec(base=base, realizations=tasks)


def short_sweeps(tasks: int) -> GridSpec:
    """The default sweep, a few milliseconds each."""
    return GridSpec(grid={"seed": f"0:{tasks // 10 - 1}:1"}, realizations=10)


def run(spec: GridSpec, executor: Executor) -> tuple[float, float, float]:
    """Seconds of computing, of all, and the sum over sweeps."""
    with tempfile.TemporaryDirectory(prefix="hopfieldphase-") as folder:
        start = time.perf_counter()
        compute_grid(spec, Path(folder), executor=executor)
        total = time.perf_counter() - start
        record = json.loads((Path(folder) / "provenance.json").read_text())
    return record["sessions"][0]["computing_seconds"], total, sum(record["sweeps"]["seconds"])


def plain(spec: GridSpec) -> float:
    """Seconds that the same sweeps take in a bare loop."""
    start = time.perf_counter()
    for cell in spec.specs():
        for realization in range(spec.realizations or 1):
            spec_sweep(cell, spec_model(cell, realization), threads=1)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=64, help="number of long sweeps")
    parser.add_argument("--short", type=int, default=10_000, help="number of short sweeps, a multiple of 10")
    chosen = parser.parse_args()
    print(f"load of the machine in the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    long = long_sweeps(chosen.tasks)
    ways = {"one process": Processes(1), "two processes": Processes(2), "Dask, two": make_executor("dask", 2)}
    found = {name: run(long, executor) for name, executor in ways.items()}
    print(f"{chosen.tasks} sweeps of M = 6000, d = 128, alpha = 1, 191 values of beta, up and down")
    for name, (computing, total, sweeps) in found.items():
        speed = found["one process"][0] / computing
        print(
            f"  {name:<18} {computing:7.2f} s   {speed:5.2f} x one   {sweeps / chosen.tasks:5.2f} s a sweep  "
            f"start and end {total - computing:5.1f} s"
        )
    one, two, dask = (seconds for seconds, _, _ in found.values())
    saving = found["one process"][0] / found["one process"][2] - 1
    print(f"  two processes over one: {one / two:.2f} (wanted: at least 1.8)")
    print(f"  Dask over two processes: {dask / two:.2f} (wanted: at most 1.10)")
    print(f"  writing and marking, of one process: {100 * saving:.1f} % (wanted: below 3 %)\n")
    short = short_sweeps(chosen.short)
    plain(short_sweeps(10))  # kernels are loaded
    bare = plain(short)
    computing, total, _ = run(short, Processes(1))
    print(f"{chosen.short} default sweeps")
    print(f"  bare loop          {bare:7.2f} s   {1000 * bare / chosen.short:.2f} ms a sweep")
    overhead = 100 * (computing / bare - 1)
    print(f"  one process        {computing:7.2f} s   overhead {overhead:.0f} % (wanted: < 25 %)")
    computing, total, _ = run(short, Processes(2))
    print(
        f"  two processes      {computing:7.2f} s   {bare / computing:.2f} x the bare loop; all {total:.1f} s"
    )


if __name__ == "__main__":
    main()
