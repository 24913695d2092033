"""Attention maps by name: what each takes, how it is made and described; importing this costs no NumPy."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopfieldphase.core.attention.contract import Attention

REQUIRED = object()
"""Stands for the default of a parameter that has none."""

_HOMES: dict[str, tuple[str, dict[str, Any]]] = {
    "entmax": ("tsallis:Entmax", {"alpha": REQUIRED}),
    "exponential": ("positive:Exponential", {}),
    "linear-elu": ("positive:LinearElu", {}),
    "squared-elu": ("positive:SquaredElu", {}),
    "log-elu": ("positive:LogElu", {}),
    "top-k": ("selection:TopK", {"k": REQUIRED}),
    "top-p": ("selection:TopP", {"p": REQUIRED}),
    "capped-entmax": ("selection:CappedEntmax", {"k": REQUIRED, "alpha": 1.5}),
    "sparsemax-k": ("selection:SparsemaxK", {"k": REQUIRED}),
    "normmax": ("normmax:Normmax", {"gamma": 2.0}),
    "water-filling": ("capped:WaterFilling", {"budget": 1.0, "caps": REQUIRED}),
    "capped-simplex": ("capped:CappedSimplex", {"budget": REQUIRED}),
    "constrained-sparsemax": ("capped:ConstrainedSparsemax", {"caps": REQUIRED}),
    "constrained-softmax": ("capped:ConstrainedSoftmax", {"caps": REQUIRED}),
    "greedy-filling": ("capped:GreedyFilling", {"budget": 1.0, "caps": REQUIRED}),
}

PARAMETERS: dict[str, dict[str, Any]] = {name: taken for name, (_, taken) in _HOMES.items()}
"""What each map takes, with its defaults; in the order in which the command line lists the maps."""


def make_attention(options: Mapping[str, Any]) -> "Attention":
    """The map of a name and its parameters, as an `AttentionSpec` dumps them.

    Raises
    ------
    InputError
        If the map refuses a parameter.
    """
    module, _, name = _HOMES[options["name"]][0].partition(":")
    given = {key: value for key, value in options.items() if key != "name"}
    return getattr(import_module(f"hopfieldphase.core.attention.{module}"), name)(**given)


def describe_attention(attention: "Attention") -> dict[str, Any]:
    """Name and parameters of any map as plain values, inner maps nested, functions by their name."""
    return _described(attention)


def _described(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        name = getattr(value, "name", type(value).__name__)
        return {"name": name} | {
            field.name: _described(getattr(value, field.name)) for field in fields(value)
        }
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
