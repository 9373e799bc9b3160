"""Limits exclude what lies beyond them, also where the tails jump."""

import numpy as np

from dpfair.fairness.limits import envelope, limit
from dpfair.fairness.rates import NoisyRate


def test_every_rate_below_the_lower_limit_is_excluded():
    """Also where the weight r changes: there the tail jumps, and it may jump down."""
    falls = 0
    for accepted, rejected, noise in ((30, 70, 0.3), (5, 300, 0.2), (120, 80, 0.5), (40, 2, 0.4)):
        rate = NoisyRate(accepted, rejected, None, noise)
        sizes = rate.size_range(0.001)
        m = rate.resolution
        for one in (rate, rate.mirrored):
            ends = (np.arange(m) + 0.5) / m
            rates = np.unique(np.concatenate([np.linspace(0, 1, 501), ends - 1e-9, ends + 1e-9]))
            tails = one.upper_tail(rates, sizes)
            falls += int((np.diff(tails) < -1e-6).sum())
            for level in (1e-6, 0.025, 0.3):
                low = limit(one, level, sizes, False)
                assert (tails[rates < low] <= level).all()
                beyond = np.linspace(low, min(1.0, low + 0.01), 9)
                assert one.upper_tail(beyond, sizes).max() > level
    assert falls  # the tails are not monotone, so that this was a test


def test_an_envelope_is_above_all_tails_up_to_a_point():
    """Also above those that fall again before the next point."""
    for rate in (NoisyRate(30, 70, None, 0.3), NoisyRate(120, 80, None, 0.5)):
        sizes = rate.size_range(0.001)
        ends = (np.arange(rate.resolution) + 0.5) / rate.resolution
        fine = np.unique(np.concatenate([np.linspace(0.1, 0.7, 601), ends - 1e-9, ends + 1e-9]))
        tails = rate.upper_tail(fine, sizes)
        for points in (np.array([0.1, 0.2, 0.29, 0.5, 0.51, 0.7]), np.linspace(0.1, 0.7, 50)):
            for point, highest in zip(points, envelope(rate, points, sizes), strict=True):
                assert highest >= tails[(fine >= 0.1) & (fine <= point)].max() - 1e-9


def test_what_chernoff_excludes_is_excluded():
    found = 0
    for accepted, rejected, noise in ((30, 70, 0.05), (400, 100, 0.1), (5, 3000, 1.0)):
        rate = NoisyRate(accepted, rejected, None, noise)
        sizes = rate.size_range(0.001)
        for one in (rate, rate.mirrored):
            for i in range(one.resolution + 1):
                p = min(1.0, (i + 0.5) / one.resolution)
                tail = float(one.tail_at(i, np.array([p]), sizes)[0])
                for level in (1e-8, 1e-4, 0.02, 0.3, 0.9):
                    if one.surely_excluded(i, p, level, sizes):
                        found += 1
                        assert tail <= level + 2e-9
    assert found > 20
