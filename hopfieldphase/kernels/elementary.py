"""Exponentials and logarithms of one float, written so that a loop over them becomes SIMD code.

The library functions are calls, and a loop around a call runs one element at a time. These are
straight lines of multiplications and additions, right to one or two units in the last place on the
domain that each states. The reductions and the polynomial of the logarithm are those of FreeBSD's
msun (e_log.c, s_log1p.c).
"""

import numpy as np

from hopfieldphase.kernels.jit import jit

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # 32 bits: an exponent times it is exact
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, left in the low bits
_HALF_SQRT_BITS = 0x3FE6A09E667F3BCD  # sqrt(1/2): mantissas are taken from [sqrt(1/2), sqrt(2))
_MANTISSA = 0x000FFFFFFFFFFFFF
_LOWEST = -746.0  # below it e^x is zero


@jit(element=True)
def exp(x):
    """e^x for x <= 0, −inf included, down to the smallest subnormal."""
    x = x if x > _LOWEST else _LOWEST
    rounded = x * _LOG2_E + _ROUND
    power = rounded - _ROUND
    r = (x - power * _LN2_HIGH) - power * _LN2_LOW
    # 2^(power + 100), and 2^-100 afterwards, so that a subnormal result is rounded once
    scale = np.int64((np.float64(rounded).view(np.int64) + 1123) << 52).view(np.float64)
    return (1.0 + _expm1_near_zero(r)) * scale * 7.888609052210118e-31


@jit(element=True)
def expm1(x):
    """e^x − 1 for x <= 700, −inf included, with full relative precision near zero."""
    x = x if x > -50.0 else -50.0  # the result is -1 from -37.5 down
    rounded = x * _LOG2_E + _ROUND
    power = rounded - _ROUND
    r = (x - power * _LN2_HIGH) - power * _LN2_LOW
    scale = np.int64((np.float64(rounded).view(np.int64) + 1023) << 52).view(np.float64)
    return scale * _expm1_near_zero(r) + (scale - 1.0)


@jit(element=True)
def log(x):
    """Logarithm of a positive, finite, normal x."""
    power, f = _split(x)
    return power * _LN2_HIGH - (_log_tail(f, power) - f)


@jit(element=True)
def log1p_and_reciprocal(x):
    """ln(1 + x), with full relative precision near zero, and 1/(1 + x), for a finite x > −1."""
    u = 1.0 + x
    reciprocal = 1.0 / u
    lost = x - (u - 1.0) if x < 1.0 else 1.0 - (u - x)
    power, f = _split(u)
    return power * _LN2_HIGH - ((_log_tail(f, power) - lost * reciprocal) - f), reciprocal


@jit(element=True)
def _expm1_near_zero(r):
    """e^r − 1 for |r| <= ln(2)/2: the Taylor series, whose next term is 4e-18 of the result."""
    q = 1.0 / 6227020800.0
    q = q * r + 1.0 / 479001600.0
    q = q * r + 1.0 / 39916800.0
    q = q * r + 1.0 / 3628800.0
    q = q * r + 1.0 / 362880.0
    q = q * r + 1.0 / 40320.0
    q = q * r + 1.0 / 5040.0
    q = q * r + 1.0 / 720.0
    q = q * r + 1.0 / 120.0
    q = q * r + 1.0 / 24.0
    q = q * r + 1.0 / 6.0
    q = q * r + 0.5
    return r + r * r * q


@jit(element=True)
def _split(x):
    """Return (k, f) with x = 2^k (1 + f) and 1 + f in [sqrt(1/2), sqrt(2))."""
    bits = np.float64(x).view(np.int64)
    offset = bits - _HALF_SQRT_BITS
    power = offset >> 52
    mantissa = np.int64((offset & _MANTISSA) + _HALF_SQRT_BITS).view(np.float64)
    return float(power), mantissa - 1.0


@jit(element=True)
def _log_tail(f, power):
    """Return f − ln(1 + f) − k ln2_low."""
    s = f / (2.0 + f)
    w = s * s
    r = 1.479819860511658591e-01
    r = r * w + 1.531383769920937332e-01
    r = r * w + 1.818357216161805012e-01
    r = r * w + 2.222219843214978396e-01
    r = r * w + 2.857142874366239149e-01
    r = r * w + 3.999999999940941908e-01
    r = r * w + 6.666666666666735130e-01
    half = 0.5 * f * f
    return half - (s * (half + w * r) + power * _LN2_LOW)
