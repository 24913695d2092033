"""Bounded domains of the deformed ensembles: an interval or a rectangle, integrals over it, peaks in it."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import cubature
from scipy.ndimage import maximum_filter
from scipy.optimize import minimize

from hopfieldphase.core.errors import InputError

Array = NDArray[np.float64]
Observable = Callable[[Any], Any]

# Peaks are looked for on a grid of this many points along each axis, and cubature starts from there.
_GRID = {1: 2049, 2: 129}
_PEAKS = 8
# Where rounding keeps the integrand from its tolerance, the error estimate says so.
_CELLS = 2000


class Domain:
    """An interval (low, high) or a rectangle of two such pairs; inside, points have shape (n, dim).

    What a user gives or gets is of shape (n,) for points and a float for vectors on an interval, (n, 2) and
    (2,) on a rectangle.
    """

    def __init__(self, bounds: Any) -> None:
        box = np.asarray(bounds, dtype=np.float64)
        shape = np.shape(bounds)
        if shape not in ((2,), (2, 2)) or not (np.all(np.isfinite(box)) and np.all(np.diff(box) > 0)):
            raise InputError(
                f"bounds = {bounds} are no interval or rectangle: give (low, high) or two such pairs"
            )
        self.bounds = bounds
        self.box = box.reshape(-1, 2)
        self.dim = len(self.box)
        self._spacing = (self.box[:, 1] - self.box[:, 0]) / (_GRID[self.dim] - 1)
        self._interval = len(shape) == 1

    @cached_property
    def grid(self) -> Array:
        """All grid points, ends included."""
        axes = [np.linspace(low, high, _GRID[self.dim]) for low, high in self.box]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.dim)

    @property
    def resolved(self) -> float:
        """The smallest volume of a peak that integrals are sure to see."""
        return float(np.prod(self._spacing / (200 if self.dim == 1 else 1)))

    def values(self, function: Observable, points: Array, name: str) -> Array:
        """One finite number per point of a user's function, or `InputError`."""
        values = np.asarray(function(points[:, 0] if self._interval else points), dtype=np.float64)
        if values.shape != points.shape[:1] or not np.all(np.isfinite(values)):
            raise InputError(
                f"{name} gives shape {values.shape} for {len(points)} points, or NaN or inf: "
                "it must return one finite number per point"
            )
        return values

    def vector(self, name: str, value: ArrayLike) -> Array:
        """A user's source, field or direction as shape (dim,), or `InputError`."""
        vector = np.asarray(value, dtype=np.float64)
        expected = () if self._interval else (2,)
        if vector.shape != expected or not np.all(np.isfinite(vector)):
            raise InputError(f"{name} = {value} is not finite or not of shape {expected}, that of a point x")
        return vector.reshape(-1)

    def plain(self, vector: Array) -> Any:
        """A vector (or 1 × 1 matrix) as the user gives it: a float on an interval."""
        return float(vector.reshape(-1)[0]) if self._interval else vector

    def peaks(self, values: Array) -> Array:
        """The grid points at which values on the grid peak, the highest first."""
        table = values.reshape((_GRID[self.dim],) * self.dim)
        tops = np.flatnonzero((table == maximum_filter(table, 3)).ravel())
        order = np.argsort(-values[tops], kind="stable")[:_PEAKS]
        return self.grid[tops[order]]

    def lowest_near(self, function: Callable[[Array], float], point: Array) -> tuple[Array, float]:
        """The minimum of a function of one point (dim,) in the grid cells around the given one."""
        cell = np.clip(
            np.stack([point - self._spacing, point + self._spacing], axis=-1),
            self.box[:, :1],
            self.box[:, 1:],
        )
        found = minimize(function, point, bounds=cell)
        start = function(point)
        return (found.x, float(found.fun)) if found.fun < start else (point, start)

    def integrate(
        self, integrand: Callable[[Array], Array], peaks: Array, tolerance: float
    ) -> tuple[Array, Array]:
        """Integrals of the columns of integrand(points), each to `tolerance` times its mass, and errors."""
        volume = float(np.prod(self.box[:, 1] - self.box[:, 0]))
        mass = volume * np.mean(np.abs(integrand(self.grid)), axis=0)
        mass[mass == 0] = 1.0
        margin = 1e-6 * self._spacing
        low, high = self.box.T
        # A narrow peak needs cells of its own to be seen at all. On a rectangle they would be strips, which
        # halving along both axes leaves thin.
        around = [peaks[0] + step * self._spacing for step in (-1, 1)] if self.dim == 1 else []
        inside = [x for x in (*peaks, *around) if np.all((x > low + margin) & (x < high - margin))]
        options: dict[str, Any] = {
            "rule": "gk21",
            "rtol": 0,
            "atol": tolerance,
            "points": inside,
            "max_subdivisions": _CELLS,
        }
        result: Any = cubature(lambda x: integrand(x) / mass, low, high, **options)
        return result.estimate * mass, result.error * mass
