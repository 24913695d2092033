"""The eigensystem of a symmetric matrix against LAPACK, on generic, degenerate and graded matrices."""

import numpy as np
import pytest

from hopfieldphase.kernels.eigen import LARGEST_SMALL, eigensystem

# Backward stable: errors are a few rounding errors times the norm, growing slowly with the size.
ROUNDING = 2e-14


def check(matrix):
    size = np.abs(np.linalg.eigvalsh(matrix)).max()
    values, rows = eigensystem(matrix.copy())
    n = len(matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=ROUNDING * size)
    np.testing.assert_allclose(rows @ rows.T, np.eye(n), atol=ROUNDING)
    np.testing.assert_allclose(rows @ matrix @ rows.T, np.diag(values), atol=ROUNDING * size)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 17, LARGEST_SMALL, LARGEST_SMALL + 1])
def test_generic(n):
    factor = np.random.default_rng(n).normal(size=(n, n + 2))
    check(factor @ factor.T)
    check(factor[:, :n] + factor[:, :n].T)


def test_degenerate():
    check(np.eye(6))
    check(np.ones((7, 7)))
    check(np.zeros((4, 4)))
    circulant = np.array([[np.cos(2 * np.pi * (i - j) / 9) for j in range(9)] for i in range(9)])
    check(circulant)


def test_diagonal_and_graded():
    check(np.diag([3.0, -1.0, 2.0, 2.0]))
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))
    check(rotation @ np.diag(10.0 ** -np.arange(8)) @ rotation.T)
