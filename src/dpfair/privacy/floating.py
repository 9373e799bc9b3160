"""Uniform and standard normal numbers from uniform words.

A normal number is the inverse distribution function of a uniform one. With numba, this function is
that of Wichura (1988), "Algorithm AS 241: The percentage points of the normal distribution",
Applied Statistics 37: quotients of polynomials, which the processor computes for several numbers at
once. It differs from SciPy's by rounding only.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.jit import Compiled, can_compile

__all__ = ["normal_numbers", "uniform_numbers"]

Words = NDArray[np.uint64]
Float64 = NDArray[np.float64]

_LOW_BITS = np.uint64(12)
_ONE = np.float64(1.0).view(np.uint64)

# Numerators and denominators near the middle, in the tails and far out, the highest power first.
_MIDDLE = np.array(
    [
        (2.5090809287301226727e3, 5.2264952788528545610e3),
        (3.3430575583588128105e4, 2.8729085735721942674e4),
        (6.7265770927008700853e4, 3.9307895800092710610e4),
        (4.5921953931549871457e4, 2.1213794301586595867e4),
        (1.3731693765509461125e4, 5.3941960214247511077e3),
        (1.9715909503065514427e3, 6.8718700749205790830e2),
        (1.3314166789178437745e2, 4.2313330701600911252e1),
        (3.3871328727963666080e0, 1.0),
    ]
)
_TAIL = np.array(
    [
        (7.74545014278341407640e-4, 1.05075007164441684324e-9),
        (2.27238449892691845833e-2, 5.47593808499534494600e-4),
        (2.41780725177450611770e-1, 1.51986665636164571966e-2),
        (1.27045825245236838258e0, 1.48103976427480074590e-1),
        (3.64784832476320460504e0, 6.89767334985100004550e-1),
        (5.76949722146069140550e0, 1.67638483018380384940e0),
        (4.63033784615654529590e0, 2.05319162663775882187e0),
        (1.42343711074968357734e0, 1.0),
    ]
)
_FAR = np.array(
    [
        (2.01033439929228813265e-7, 2.04426310338993978564e-15),
        (2.71155556874348757815e-5, 1.42151175831644588870e-7),
        (1.24266094738807843860e-3, 1.84631831751005468180e-5),
        (2.65321895265761230930e-2, 7.86869131145613259100e-4),
        (2.96560571828504891230e-1, 1.48753612908506148525e-2),
        (1.78482653991729133580e0, 1.36929880922735805310e-1),
        (5.46378491116411436990e0, 5.99832206555887937690e-1),
        (6.65790464350110377720e0, 1.0),
    ]
)


# So far from the middle, in steps of 2^-52, the tails begin.
_TAILS_FROM = int(0.425 * 2**52)


def uniform_numbers(words: Words) -> Float64:
    """Uniform numbers strictly between 0 and 1: the middles of 2^52 equal intervals."""
    bits = words >> _LOW_BITS
    bits |= _ONE  # as a number, this is in [1, 2)
    result = bits.view(np.float64)
    result -= 1 - 2.0**-53
    return result


def normal_numbers(words: Words) -> Float64:
    """Independent standard normal numbers, one for every uniform 64-bit word.

    Floating point: the grid of the outputs is that of :func:`uniform_numbers`, not of any data.
    """
    if not can_compile():
        from scipy import special  # decisions need no normal numbers, and no SciPy

        plain: Float64 = special.ndtri(uniform_numbers(words))
        return plain
    result = np.empty(len(words))
    _compiled()(words, result)
    return result


def _normal_loop(words: Any, result: Any) -> None:
    """What the middle's polynomials give for all words; then the tails for those in them."""
    for i in range(words.shape[0]):
        from_half = (np.float64(np.int64(words[i] >> np.uint64(12))) + 0.5) * 2.0**-52 - 0.5
        x, over, under = 0.180625 - from_half * from_half, 0.0, 0.0
        for k in range(8):
            over, under = over * x + _MIDDLE[k, 0], under * x + _MIDDLE[k, 1]
        result[i] = from_half * over / under
    in_tails, count = np.empty(words.shape[0], np.uint64), 0
    for i in range(words.shape[0]):
        in_tails[count] = i  # the next one replaces it, unless it counts
        count += int(abs(np.int64(words[i] >> np.uint64(12)) - (1 << 51)) >= _TAILS_FROM)
    for j in range(count):
        place = in_tails[np.uint64(j)]
        from_half = (np.float64(np.int64(words[place] >> np.uint64(12))) + 0.5) * 2.0**-52 - 0.5
        root, over, under = math.sqrt(-math.log(0.5 - abs(from_half))), 0.0, 0.0
        if root <= 5:
            for k in range(8):
                over = over * (root - 1.6) + _TAIL[k, 0]
                under = under * (root - 1.6) + _TAIL[k, 1]
        else:
            for k in range(8):
                over = over * (root - 5) + _FAR[k, 0]
                under = under * (root - 5) + _FAR[k, 1]
        result[place] = math.copysign(over / under, from_half)


@cache
def _compiled() -> Compiled:
    # Products and sums may be rounded at once: some processors have no such operation.
    return Compiled(_normal_loop, {"contract"})
