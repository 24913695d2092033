"""Side-by-side timing: every contestant in fresh processes, alternating, medians with their range.

A benchmark module calls itself once per contestant and round with the contestant's options and prints one
JSON object with at least `seconds` and `values`; whatever else it holds can be shown as extra columns. Speeds
count only where the values agree, so the caller compares `values` first.
"""

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Contestant:
    """A name and the command-line options with which the benchmark measures it."""

    name: str
    options: dict[str, Any]


@dataclass
class Results:
    """Measurements of every round, by contestant."""

    rounds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def seconds(self, name: str) -> list[float]:
        """Seconds of each round."""
        return [entry["seconds"] for entry in self.rounds[name]]

    def values(self, name: str) -> np.ndarray:
        """The values that the contestant computed."""
        return np.array(self.rounds[name][0]["values"], dtype=float)

    def ratios(self, name: str, baseline: str) -> list[float]:
        """Time of `name` over time of `baseline`, round by round."""
        return [a / b for a, b in zip(self.seconds(name), self.seconds(baseline), strict=True)]

    def print_table(self, baseline: str, extra: tuple[str, ...] = ()) -> None:
        """Print medians with ranges, and ratios to the baseline."""
        width = max(map(len, self.rounds))
        head = "".join(f"  {name:>8}" for name in extra)
        print(f"{'':{width}}  {'median ms':>10}  {'range ms':>19}  {'times ours':>10}  {'range':>15}{head}")
        for name in self.rounds:
            times = [1e3 * s for s in self.seconds(name)]
            ratios = self.ratios(name, baseline)
            cells = "".join(f"  {self.rounds[name][0][key]:>8}" for key in extra)
            print(
                f"{name:{width}}  {statistics.median(times):10.3f}  {span(times):>19}"
                f"  {statistics.median(ratios):10.2f}  {span(ratios):>15}{cells}"
            )


def span(numbers: list[float]) -> str:
    """Smallest and largest of a few numbers."""
    return f"{min(numbers):.3g}–{max(numbers):.3g}"


def run_contest(module: str, contestants: list[Contestant], rounds: int) -> Results:
    """Run every contestant once per round, in turn, each in a process of its own."""
    results = Results({contestant.name: [] for contestant in contestants})
    for _ in range(rounds):
        for contestant in contestants:
            options = [f"--{key}={value}" for key, value in contestant.options.items()]
            done = subprocess.run(
                [sys.executable, "-m", module, *options], capture_output=True, text=True, check=False
            )
            if done.returncode:
                sys.exit(f"{contestant.name} failed:\n{done.stderr}")
            results.rounds[contestant.name].append(json.loads(done.stdout.splitlines()[-1]))
    return results


def report(measurement: dict[str, Any]) -> None:
    """Print a measurement for `run_contest`."""
    print(json.dumps(measurement))
