"""Broken bounds: levels, unions, laws of the noise, and the direction of rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import special
from scipy.special import gammainccinv
from trust.mutants.registry import mutant, patched

from dpfair import evaluation
from dpfair.certificate import rule as chosen
from dpfair.certificate import text
from dpfair.fairness import rates
from dpfair.fairness.bounds import bands, deviations, placement, tails
from dpfair.fairness.bounds.tails import NoiseLaw
from dpfair.fairness.laplace_sums import noise_masses
from dpfair.fairness.rates import SIZE_SHARE, NoisyRate
from dpfair.fairness.release import Release
from dpfair.methods import base

# --- what a union is taken over -------------------------------------------------------------

_placement_levels = placement.placement_levels


@mutant(
    "a pair of placed thresholds fails twice as often",
    "placed levels",
    instead_of=(placement, "placement_levels"),
)
def _doubled_pairs(eta, groups):
    levels = _placement_levels(eta, groups)
    return replace(levels, pair=2 * levels.pair)


@mutant(
    "an accuracy bound counts one group's thresholds",
    "accuracy levels",
    instead_of=(bands, "combination_level"),
)
def _one_groups_thresholds(eta, thresholds, groups):
    return eta / thresholds if groups <= 5 else 0.0


@mutant(
    "C3 does not pay for the range of sizes", "rule levels", instead_of=(special, "gammainccinv")
)
def _sizes_unpaid(k, eta):
    return gammainccinv(k, eta / (1 - SIZE_SHARE))


@mutant("Fisher's quantile has half its degrees of freedom", "rule levels")
def _half_the_freedom():
    with patched((special, "gammainccinv", lambda k, eta: gammainccinv(k / 2, eta))):
        yield


@mutant("each rate of a notion gets the whole error", "rule levels")
def _statistics_uncounted():
    real = bands.fixed_bound

    def whole(release, notion, confidence, lottery=None):
        eta = min((1 - confidence) * len(notion.statistics), 1 - 1e-9)
        return real(release, notion, 1 - eta, lottery)

    with patched((bands, "fixed_bound", whole), (chosen, "fixed_bound", whole)):
        yield


@mutant("a corrected accuracy pays for one threshold of three", "rule levels")
def _one_of_three():
    real = bands.union_bound

    def fewer(release, lottery, notion, confidence, thresholds, method):
        counted = len(notion.statistics) if method == "corrected" else thresholds
        return real(release, lottery, notion, confidence, counted, method)

    with patched((bands, "union_bound", fewer)):
        yield


@mutant("the mass of a cell is limited for one cell alone", "placed levels")
def _one_cell():
    real = placement.cell_limit

    def alone(release, group, statistic, target, eta):
        return real(release, group, statistic, target, eta * release.counts.shape[2])

    with patched((placement, "cell_limit", alone)):
        yield


@mutant("to beat two constants costs what one would", "claims")
def _one_constant():
    real = chosen.best_constant

    def cheap(counted, eta):
        return real(counted, 2 * eta)

    with patched((chosen, "best_constant", cheap)):
        yield


@mutant("each share of undeclared values gets the whole error", "claims")
def _shares_apart():
    real = chosen.undeclared_shares

    def apart(release, confidence):
        return real(release, 1 - (1 - confidence) * max(len(release.undeclared), 1))

    with patched((chosen, "undeclared_shares", apart)):
        yield


@mutant("records of one person count as independent", "dependence")
def _independent():
    def never(**facts):
        return ""

    with patched((evaluation, "dependence_of", never), (base, "dependence_of", never)):
        yield


# --- limits of one rate ---------------------------------------------------------------------


@mutant("an interval pays for its tails alone", "limits")
def _tails_alone():
    real = NoisyRate.levels

    def levels(self, eta):
        return eta, real(self, eta)[1]

    with patched((NoisyRate, "levels", levels)):
        yield


@mutant("a size is only ever too large", "sizes")
def _one_sided_sizes():
    real = rates.noise_quantile

    def one_sided(noise, cells, level):
        return real(noise, cells, 2 * level)

    with patched((rates, "noise_quantile", one_sided)):
        yield


@mutant("the quantile of the noise is one too small", "sizes")
def _quantile_off_by_one():
    real = rates.noise_quantile

    def smaller(noise, cells, level):
        return max(real(noise, cells, level) - 1, 0)

    with patched((rates, "noise_quantile", smaller)):
        yield


@mutant("nested intervals are one step too narrow", "limits")
def _nested_off_by_one():
    real = rates.nested_limits

    def narrow(rate, etas, sizes):
        found = real(rate, etas, sizes)
        return np.concatenate([found[:1], found[:-1]])

    with patched((rates, "nested_limits", narrow)):
        yield


@mutant("the largest size of a range is left out", "tails of rates")
def _last_size():
    real = NoisyRate.tail_at

    def fewer(self, i, rates, sizes):
        return real(self, i, rates, (sizes[0], max(sizes[1] - 1, sizes[0])))

    with patched((NoisyRate, "tail_at", fewer)):
        yield


@mutant("tails are not rounded up", "tails of rates")
def _not_rounded():
    with patched((tails, "rounded_up", lambda n, chances: np.minimum(1.0, chances))):
        yield


# --- the law of the noise -------------------------------------------------------------------


@mutant("the noise of a threshold is rounded down", "laws")
def _rounded_down():
    real = deviations.shortfalls

    def lower(noise, rows, bins, target):
        law = real(noise, rows, bins, target)
        step = float(np.diff(law.places).min(initial=1.0))
        return NoiseLaw(law.places - step, law.masses)

    with patched((deviations, "shortfalls", lower)):
        yield


@mutant("the maximum of a walk is taken for its end", "laws", instead_of=(deviations, "lift"))
def _end_of_walk(noise, cells, target):
    masses = noise_masses(noise, cells)
    end = np.arange(len(masses)) - len(masses) // 2
    lift = np.maximum(end, 0) - target * end
    order = np.argsort(lift)
    return NoiseLaw(lift[order], masses[order, None])


@mutant("undeclared values are counted without noise", "cells")
def _quiet_cells():
    real = Release.right_rate

    def quiet(self, groups, thresholds):
        rate = real(self, groups, thresholds)
        cells = max(1, self.counts.size - rate.accepted_cells)
        return replace(rate, rejected_cells=cells)

    with patched((Release, "right_rate", quiet)):
        yield


# --- print ----------------------------------------------------------------------------------


@mutant("bounds are printed to the nearest digit", "print")
def _nearest():
    def nearest(bound, digits=4):
        return f"{bound:.{digits}f}"

    with patched((text, "round_up", nearest), (text, "round_down", nearest)):
        yield
