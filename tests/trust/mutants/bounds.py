"""Broken bounds: levels, unions, laws of the noise, and the direction of rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammainccinv
from trust.mutants.registry import mutant, patched

from dpfair import evaluation
from dpfair.certificate import claims as certificate
from dpfair.fairness import rates
from dpfair.fairness.bounds import bands, placement, tails
from dpfair.fairness.bounds import paper as certificates
from dpfair.fairness.bounds.tails import NoiseLaw
from dpfair.fairness.rates import SIZE_SHARE, NoisyRate
from dpfair.fairness.release import Release
from dpfair.methods import fair_classifier as private_fair

# --- what a union is taken over -------------------------------------------------------------

_placement_levels = placement.placement_levels


@mutant("a pair of placed thresholds fails twice as often", "placed levels")
def _doubled_pairs():
    def doubled(eta, groups):
        levels = _placement_levels(eta, groups)
        return replace(levels, pair=2 * levels.pair)

    with patched((placement, "placement_levels", doubled)):
        yield


@mutant("an accuracy bound counts one group's thresholds", "accuracy levels")
def _one_groups_thresholds():
    def one_group(eta, thresholds, groups):
        return eta / thresholds if groups <= 5 else 0.0

    with patched((bands, "combination_level", one_group)):
        yield


@mutant("C3 does not pay for the range of sizes", "rule levels")
def _sizes_unpaid():
    def unpaid(groups, confidence):
        private = any(rate.size is None for rate in groups)
        surprise = float(gammainccinv(len(groups), 1 - confidence))
        etas = np.exp(-np.linspace(0, surprise, certificates._STEPS + 1))
        eta_size = SIZE_SHARE * (1 - confidence) / len(groups) if private else 0.0
        return np.stack([rate.nested_intervals(etas, eta_size) for rate in groups])

    with _c3(unpaid):
        yield


def _c3(levels):
    """The combined bound with other levels."""

    def bound(groups, rule, confidence):
        found = levels(groups, confidence)
        return certificates._bound(groups, rule, found, confidence, "C3")

    return patched(
        *((module, "combined_gap_bound", bound) for module in (certificates, bands, certificate))
    )


@mutant("Fisher's quantile has half its degrees of freedom", "rule levels")
def _half_the_freedom():
    with patched((certificates, "gammainccinv", lambda k, eta: gammainccinv(k / 2, eta))):
        yield


@mutant("each rate of a notion gets the whole error", "rule levels")
def _statistics_uncounted():
    real = bands.fixed_bound

    def whole(release, notion, confidence, lottery=None):
        eta = min((1 - confidence) * len(notion.statistics), 1 - 1e-9)
        return real(release, notion, 1 - eta, lottery)

    with patched((bands, "fixed_bound", whole), (certificate, "fixed_bound", whole)):
        yield


@mutant("a corrected accuracy pays for one threshold of three", "rule levels")
def _one_of_three():
    real = bands._union_bound

    def fewer(release, lottery, notion, confidence, thresholds, method):
        counted = len(notion.statistics) if method == "corrected" else thresholds
        return real(release, lottery, notion, confidence, counted, method)

    with patched((bands, "_union_bound", fewer)):
        yield


@mutant("the mass of a cell is limited for one cell alone", "placed levels")
def _one_cell():
    real = placement._cell_mass

    def alone(release, group, statistic, target, eta):
        return real(release, group, statistic, target, eta * release.counts.shape[2])

    with patched((placement, "_cell_mass", alone)):
        yield


@mutant("to beat two constants costs what one would", "claims")
def _one_constant():
    real = certificate._constants

    def cheap(counted, eta):
        return real(counted, 2 * eta)

    with patched((certificate, "_constants", cheap)):
        yield


@mutant("each share of undeclared values gets the whole error", "claims")
def _shares_apart():
    real = certificate.undeclared_shares

    def apart(release, confidence):
        return real(release, 1 - (1 - confidence) * max(len(release.undeclared), 1))

    with patched((certificate, "undeclared_shares", apart)):
        yield


@mutant("records of one person count as independent", "dependence")
def _independent():
    def never(*, inferred, rows_per_unit):
        return ""

    with patched((evaluation, "dependence_of", never), (private_fair, "dependence_of", never)):
        yield


# --- limits of one rate ---------------------------------------------------------------------


@mutant("an interval pays for its tails alone", "limits")
def _tails_alone():
    def interval(self, eta):
        share = 1.0 if self.rejected is None else SIZE_SHARE
        return rates._limits(self, rates._level(eta), self.size_range(share * eta))

    with patched((NoisyRate, "interval", interval)):
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
    real = rates._nested_intervals

    def narrow(rate, etas, eta_size):
        found = real(rate, etas, eta_size)
        return np.concatenate([found[:1], found[:-1]])

    with patched((rates, "_nested_intervals", narrow)):
        yield


@mutant("the largest size of a range is left out", "tails of rates")
def _last_size():
    real = NoisyRate._blocks

    def fewer(self, r, sizes):
        return real(self, r, (sizes[0], max(sizes[1] - 1, sizes[0])))

    with patched((NoisyRate, "_blocks", fewer)):
        yield


@mutant("tails are not rounded up", "tails of rates")
def _not_rounded():
    with patched((tails, "_rounded_up", lambda n, chances: np.minimum(1.0, chances))):
        yield


# --- the law of the noise -------------------------------------------------------------------


@mutant("the noise of a threshold is rounded down", "laws")
def _rounded_down():
    real = placement._shortfalls

    def lower(noise, rows, bins, target):
        law = real(noise, rows, bins, target)
        step = float(np.diff(law.places).min(initial=1.0))
        return NoiseLaw(law.places - step, law.masses)

    with patched((placement, "_shortfalls", lower)):
        yield


@mutant("the maximum of a walk is taken for its end", "laws")
def _end_of_walk():
    def ends(noise, cells, target):
        masses = rates.noise_masses(noise, cells)
        end = np.arange(len(masses)) - len(masses) // 2
        lift = np.maximum(end, 0) - target * end
        order = np.argsort(lift)
        return NoiseLaw(lift[order], masses[order, None])

    with patched((placement, "_lift", ends)):
        yield


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

    with patched((certificate, "round_up", nearest), (certificate, "round_down", nearest)):
        yield
