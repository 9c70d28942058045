"""How much a number of trials can show: intervals, exact tests, the resolution of a success rate."""

import math
from itertools import accumulate

from base.command import InputError

Z = 1.959963984540054  # the 97.5% point of the standard normal distribution: two-sided 95%


def wilson(kept, n):
    """(low, high) of the 95% interval for `kept` successes in n trials, after Wilson (1927); None without trials.

    wilson(0, 20) -> (0.0, 0.161): inside 0 to 1 and, unlike the normal approximation's, not empty at 0 or n of n.
    """
    if n == 0:
        return None
    p, z2 = kept / n, Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return (0.0 if kept == 0 else middle - half, 1.0 if kept == n else middle + half)


def sign_test(ups, downs):
    """Two-sided exact p of the outcomes of ups + downs fair coin tosses: sign_test(5, 0) -> 0.0625; 1.0 without any."""
    n = ups + downs
    ways = accumulate(range(min(ups, downs)), lambda ways, k: ways * (n - k) // (k + 1), initial=1)  # n over 0, 1, 2 …
    return min(1.0, 2 * sum(ways) / 2**n)


mcnemar = sign_test  # McNemar's exact test (1947) of paired outcomes, given the two kinds of discordant pairs


def resolution(rate, n, drop=None):
    """What a success rate over n independent conversations can show, by the normal approximation.

    -> {"rate", "n", "standard_error", "low", "high", "smallest_drop", "drop", "needed"}: standard error
    sqrt(p (1 - p) / n); its 95% interval; the smallest drop that leaves that interval; and the conversations at which
    a drop of `drop` would. InputError for a rate outside 0 to 1, n below 1 or a drop that is not above 0.
    resolution(0.83, 200, drop=0.015) -> standard_error 0.027, low 0.78, high 0.88, needed 2410
    """
    if not 0 <= rate <= 1:
        raise InputError(f"a success rate of {rate} is none; give a share from 0 to 1")
    if n < 1:
        raise InputError(f"{n} conversations show nothing; give at least 1")
    error = math.sqrt(rate * (1 - rate) / n)
    shows = {"rate": rate, "n": n, "standard_error": error, "low": max(0.0, rate - Z * error),
             "high": min(1.0, rate + Z * error), "smallest_drop": Z * error}
    if drop is None:
        return shows
    if not 0 < drop <= 1:
        raise InputError(f"a drop of {drop} is none; give a share above 0, at most 1")
    return {**shows, "drop": drop, "needed": max(1, math.ceil(rate * (1 - rate) * (Z / drop) ** 2))}


def percentile(values, share):
    """The nearest-rank percentile, the least value that `share` of them do not exceed: percentile([3, 1], 0.5) -> 1."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
