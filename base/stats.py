"""How much a number of trials can show: intervals, exact tests, the resolution of a success rate.

kept, n   successes and trials, whole numbers
"""

import math

Z = 1.959963984540054  # the 97.5% point of the standard normal distribution: two-sided 95%


def wilson(kept, n, z=Z):
    """(low, high) of the 95% interval for a share, after Wilson (1927); None where there are no trials.

    Unlike the normal approximation it stays inside 0 to 1 and is not empty at 0 of n or n of n.
    """
    if not 0 <= kept <= n:
        raise ValueError(f"{kept} of {n} is no share; give 0 <= kept <= n")
    if n == 0:
        return None
    p, z2 = kept / n, z * z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return (0.0 if kept == 0 else max(0.0, middle - half), 1.0 if kept == n else min(1.0, middle + half))


def sign_test(one, other):
    """Two-sided exact p for `one` against `other` of one + other fair coin tosses; 1.0 where there are none."""
    if one < 0 or other < 0:
        raise ValueError(f"{one} and {other} are no counts; give whole numbers from 0")
    n = one + other
    ways, tail = 1, 1  # n over k, and its sum: each from the one before, so that 100,000 pairs take a second
    for k in range(min(one, other)):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / 2**n)


def mcnemar(lost, gained):
    """Exact McNemar test (1947) for paired outcomes: the sign test over discordant pairs, the only ones that tell."""
    return sign_test(lost, gained)


def resolution(rate, n, drop=None):
    """What a success rate over n independent conversations can show, by the normal approximation.

    -> {"rate", "n", "standard_error", "low", "high", "smallest_drop", "drop", "needed"}: standard error
    sqrt(p (1 - p) / n); its 95% interval; the smallest drop that leaves that interval; and the conversations at which
    a drop of `drop` would. ValueError for a rate outside 0 to 1, n below 1 or a drop that is not above 0.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"a success rate of {rate} is none; give a share from 0 to 1")
    if n < 1:
        raise ValueError(f"{n} conversations show nothing; give at least 1")
    error = math.sqrt(rate * (1 - rate) / n)
    found = {"rate": rate, "n": n, "standard_error": error, "low": max(0.0, rate - Z * error),
             "high": min(1.0, rate + Z * error), "smallest_drop": Z * error}
    if drop is not None:
        found |= {"drop": drop, "needed": conversations_needed(rate, drop)}
    return found


def conversations_needed(rate, drop):
    """Conversations at which a drop of `drop` leaves the 95% interval; half the drop needs four times as many."""
    if not 0 < drop <= 1:
        raise ValueError(f"a drop of {drop} is none; give a share above 0, at most 1")
    return max(1, math.ceil(rate * (1 - rate) * (Z / drop) ** 2))


def percentile(values, share):
    """The nearest-rank percentile: the smallest value that at least `share` of them do not exceed."""
    if not values:
        raise ValueError("no values, no percentile")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
