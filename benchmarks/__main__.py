"""All contests in turn, with their defaults: python -m benchmarks."""

import subprocess
import sys

for module in ("weights", "sweep"):
    print(f"\n# {module}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{module}"], check=True)
