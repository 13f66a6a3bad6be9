"""How few rows must move for a start to stop, by hand."""

from support.sweeps import every

from secfc.kmeans.program import fewest_moved


@every(
    ("tol_moved", "m", "fewest"),
    [
        (0.0, 10, 1),
        (5e-324, 10, 1),
        (0.05, 10, 1),
        (0.1, 10, 1),
        (0.11, 10, 2),
        (0.1, 30, 3),  # the floats 0.1 and 0.7 are not these decimals, and 0.7 * 10 in floats is not 7
        (0.7, 10, 7),
        (0.07, 100, 7),
        (0.001, 190_000, 190),
        (0.001, 190_001, 191),
        (1e-9, 1 << 29, 1),
        (0.999, 1, 1),
        (0.9999999999999999, 1 << 29, 1 << 29),
    ],
)
def test_as_many_rows_as_the_decimal_fraction_asks_for(tol_moved, m, fewest):
    assert fewest_moved(tol_moved, m) == fewest
