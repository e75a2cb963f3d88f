"""The statistics behind every verdict, computed in C++.

>>> from adagp.stats import paired_difference
>>> found = paired_difference([0.4, 0.6, 0.5])      # points of a method above another one, by seed
>>> found.n, round(found.mean, 2), round(found.low, 2), round(found.high, 2), found.excludes_zero
(3, 0.5, 0.25, 0.75, True)
"""

from ._core import Difference, mean, paired_difference, standard_deviation

__all__ = ["Difference", "mean", "paired_difference", "standard_deviation"]
