"""The units for float64 arithmetic: the data's, scaled by a power of two and shifted."""

import numpy as np

from plaintext_baselines._arrays import FloatArray


def binary_exponent(*arrays: FloatArray) -> int:
    """The e with 2^(e-1) <= max |x| < 2^e over all entries; 0 if all are 0."""
    largest = max((float(np.abs(array).max()) for array in arrays if array.size), default=0.0)
    return int(np.frexp(largest)[1])


class Frame:
    """A scale and an offset that bring the rows near 0.

    The rows are scaled by a power of two into [-1, 1]. This is exact, and squares then neither overflow nor
    underflow. They are also moved to mean 0, for less cancellation, as in scikit-learn. Neither is part of
    any method: no party needs to know them, and results are converted to the data's units.
    """

    def __init__(self, pool: FloatArray) -> None:
        self.exponent = binary_exponent(pool)
        self.mean: FloatArray = np.ldexp(pool, -self.exponent).mean(axis=0)

    def enter(self, points: FloatArray) -> FloatArray:
        """Convert points from the data's units to this frame."""
        with np.errstate(over="ignore"):
            moved: FloatArray = np.ldexp(points, -self.exponent)
        moved -= self.mean
        return moved

    def leave(self, points: FloatArray) -> FloatArray:
        """Convert points to the data's units."""
        return np.asarray(np.ldexp(points + self.mean, self.exponent))

    def enter_length(self, length: float) -> float:
        """Convert a length from the data's units to this frame; inf beyond float64."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(length, -self.exponent))

    def leave_square(self, square: float) -> float:
        """Convert a squared length to the data's units; inf beyond float64."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(square, 2 * self.exponent))
