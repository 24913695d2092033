"""Vectors copied in place.

In compiled code `x[:] = y` checks shapes, and brings all that words the error into its caller and every
caller of that: a fifth of the time that the compilation of a sweep takes.
"""

from hopfieldphase.kernels.jit import jit


@jit
def assign(target, source):
    """Copy a vector onto another one of the same length."""
    for i in range(target.size):
        target[i] = source[i]
