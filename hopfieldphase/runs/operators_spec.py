"""Which maps between measures are trained, and how they are scored; importing this costs no NumPy."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole, words

Operator = Literal["sheared-swap", "matrix-inverse"]
Family = Literal["pareto", "gaussian"]
Norm = Literal["post", "pre"]
Device = Literal["cpu", "cuda"]

KERNELS = ("exponential", "squared-elu", "linear-elu", "log-elu")
TRANSFORMS = ("none", "symlog")

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "small": {
        "points": 256, "batch": 8, "steps": 1000, "warm_up": 20, "width": 64, "hidden": 128
    },
    "smoke": {
        "points": 64, "batch": 2, "steps": 6, "warm_up": 2, "width": 16, "hidden": 32, "blocks": 2,
        "trials": 8,
    },
}  # fmt: skip
"""Options by name: `paper` has those of Appendix E.3, `small` is for two CPU cores, `smoke` takes seconds."""


def _names(name: str, known: tuple[str, ...]) -> BeforeValidator:
    return BeforeValidator(lambda value: words(name, value, known))


class OperatorsSpec(TomlSpec):
    """Models for one operator between laws on the plane: one for each kernel and each data transform.

    All have `blocks` blocks of `norm` placement, width `width` and inner width `hidden`, and are trained for
    `steps` steps on `batch` trials of `points` points. Scores are taken over `trials` trials; Hill estimates
    use the share `fraction` of the points. With `minutes` the steps are as many as fit into that time.
    """

    study: Annotated[str, one_of("study", ("operators",))] = "operators"
    operator: Annotated[Operator, one_of("operator", get_args(Operator))] = "sheared-swap"
    family: Annotated[Family, one_of("family", get_args(Family))] = "pareto"
    norm: Annotated[Norm, one_of("norm", get_args(Norm))] = "post"
    kernels: Annotated[tuple[str, ...], _names("kernels", KERNELS)] = KERNELS
    transforms: Annotated[tuple[str, ...], _names("transforms", TRANSFORMS)] = TRANSFORMS
    points: Annotated[int, whole("points", 16)] = 16384
    batch: Annotated[int, whole("batch", 1)] = 64
    steps: Annotated[int, whole("steps", 1)] = 50000
    warm_up: Annotated[int, whole("warm_up", 0)] = 1000
    learning_rate: Annotated[float, real("learning_rate", 0, 1, "()")] = 1e-3
    blocks: Annotated[int, whole("blocks", 1)] = 6
    width: Annotated[int, whole("width", 1)] = 256
    hidden: Annotated[int, whole("hidden", 1)] = 512
    trials: Annotated[int, whole("trials", 2)] = 128
    fraction: Annotated[float, real("fraction", 0, 0.5, "()")] = 0.1
    seed: Annotated[int, whole("seed", 0)] = 0
    minutes: Annotated[float | None, real("minutes", 0, 1e6, "()")] = None
    device: Annotated[Device, one_of("device", get_args(Device))] = "cpu"

    @model_validator(mode="before")
    @classmethod
    def _without_none(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        return {name: value for name, value in options.items() if value is not None}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.operator == "matrix-inverse" and self.family == "gaussian":
            raise InputError(
                "matrix-inverse on gaussian marginals has no right answer, two laws of the output belong to "
                "one of the input: use pareto"
            )
        if int(self.fraction * self.points) < 1:
            raise InputError(
                f"fraction = {self.fraction:g} of {self.points} points is none: give a larger one"
            )
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        count = len(self.kernels) * len(self.transforms)
        length = f"{self.steps} steps" if self.minutes is None else f"{self.minutes:g} minutes in all"
        return (
            f"{count} Transformers learn the {self.operator} of {self.family} laws: {self.norm}-norm, "
            f"N = {self.points}, {self.batch} trials a step, {length}"
        )
