"""Find a minimum of the free energy at fixed parameters."""

from hopfieldphase.solvers.options import SOLVERS
from hopfieldphase.solvers.relaxation import Solution, relax, relax_many

__all__ = ["SOLVERS", "Solution", "relax", "relax_many"]
