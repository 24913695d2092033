"""Time from an installed package to its first figure, without and with compiled kernels on disk.

    python -m benchmarks.cold_start [--warm 3] [--package FOLDER]

Each row is one fresh process: `import hopfieldphase`, `hopfieldphase --help`, and the default sweep with its
figure, first with empty caches (NUMBA_CACHE_DIR and MPLCONFIGDIR in a temporary folder), then with what that
one left. Wall time depends on who else works on the machine, processor time hardly does; the load average
stands beside both. With --package another copy of the package is measured, for example one of before.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = "import sys; from hopfieldphase.cli import main; main(sys.argv[1:])"
SWEEP = ["-c", COMMAND, "sweep", "beta", "--alpha", "2", "--force", "--quiet", "--out", "loop"]
STARTS = {
    "import": ["-c", "import hopfieldphase"],
    "--help": ["-c", COMMAND, "--help"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warm", type=int, default=3, help="runs with warm caches; the fastest is shown")
    parser.add_argument("--package", type=Path, help="folder that holds another hopfieldphase/")
    options = parser.parse_args()
    print(f"{'start':<28}{'wall s':>9}{'CPU s':>9}{'load':>8}")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        environment = os.environ | {"NUMBA_CACHE_DIR": f"{work}/numba", "MPLCONFIGDIR": f"{work}/matplotlib"}
        if options.package:
            environment["PYTHONPATH"] = str(options.package.resolve())
        for name, words in STARTS.items():
            row(name, min(measured(words, work, environment) for _ in range(options.warm)))
        row("sweep, nothing compiled", measured(SWEEP, work, environment))
        row("sweep, compiled", min(measured(SWEEP, work, environment) for _ in range(options.warm)))
        kept = [file.stat().st_size for file in (work / "numba").rglob("*.nbc")]
        print(f"{len(kept)} compiled functions kept, {sum(kept) / 1e6:.1f} MB")


def measured(words, work, environment):
    """Wall and processor seconds of one process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=work, env=environment, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(name, times):
    wall, cpu = times
    print(f"{name:<28}{wall:>9.2f}{cpu:>9.2f}{os.getloadavg()[0]:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
