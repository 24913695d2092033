"""Labels of variables as plain text: a page that loads nothing has no typesetter for formulas."""

import re
from collections.abc import Mapping
from typing import Any

_SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "kappa": "κ", "lambda": "λ",
    "mu": "μ", "xi": "ξ", "theta": "θ", "sigma": "σ", "Gamma": "Γ", "Delta": "Δ", "Sigma": "Σ", "Xi": "Ξ",
    "nabla": "∇", "max": "max", "min": "min", "log": "log", "infty": "∞", "pm": "±", "in": "∈",
}  # fmt: skip
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def label(attrs: Mapping[Any, Any], name: str) -> str:
    """Label of a variable from its attributes, with its unit unless that is "1"."""
    text, units = plain(str(attrs.get("long_name", name.replace("_", " ")))), attrs.get("units", "1")
    return text if units == "1" else f"{text} ({units})"


def plain(text: str) -> str:
    r"""Text without mathtext: ``maximal overlap $z_{\max}$`` becomes ``maximal overlap z_max``."""
    return re.sub(r"\$([^$]*)\$", lambda formula: _formula(formula[1]), text)


def _formula(text: str) -> str:
    text = re.sub(r"\\(?:mathrm|text|mathbf)\{([^}]*)\}", r"\1", text)
    text = re.sub(r"\\[,;! ]", " ", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda command: _SYMBOLS.get(command[1], command[1]), text)
    text = re.sub(r"\^(\d)", lambda power: power[1].translate(_SUPERSCRIPTS), text)
    return " ".join(re.sub(r"[{}]", "", text).split())
