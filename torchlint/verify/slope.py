"""Growth of a series of samples, by the median of all its slopes: one spike or a late start does not move it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median

__all__ = ["MOSTLY", "rising_share", "theil_sen"]

MOSTLY = 0.9
"""The share of pairs that must rise before a slope is called growth: a leak gives 1, varying batches about 0.5."""


def theil_sen(samples: Sequence[float]) -> float:
    """The Theil-Sen slope: the median of the slopes between any two samples.

    Args:
        samples: one value a step.

    Returns:
        Units of the samples per step; 0.0 for fewer than two samples.

    Source: Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968).
    """
    slopes = [(samples[j] - samples[i]) / (j - i) for i, j in combinations(range(len(samples)), 2)]
    return float(median(slopes)) if slopes else 0.0


def rising_share(samples: Sequence[float]) -> float:
    """The share of pairs whose later sample is greater, from 0.0 to 1.0 (Kendall's tau before ties are weighed)."""
    pairs = list(combinations(samples, 2))
    return sum(later > earlier for earlier, later in pairs) / len(pairs) if pairs else 0.0
