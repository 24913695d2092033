"""All contests in turn, with their defaults: python -m benchmarks."""

import subprocess
import sys

CONTESTS = (
    ["weights"], ["attention"], ["attention_polytopes"], ["sweep", "--alpha=2"], ["sweep", "--alpha=1"],
    ["branches"], ["fold"], ["continuation"], ["distances"], ["learn_entmax"], ["million"], ["executors"],
    ["learn_step"], ["learn_kernel_attention"],
)  # fmt: skip

for module, *options in CONTESTS:
    print(f"\n# {module} {' '.join(options)}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *options], check=True)
