"""Broken handling of records: who is read, counted and in which scope."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from trust.mutants.registry import mutant, patched

from dpfair.data import table
from dpfair.data.tabular import TabularInput
from dpfair.fairness import release as release_module
from dpfair.learners import features, logistic
from dpfair.methods import fair_classifier as private_fair
from dpfair.methods import search
from dpfair.methods.dp_fermi import method as dp_fermi
from dpfair.privacy.assumptions import Assumption

_coin_split = private_fair.coin_split


@mutant("all records are in both scopes", "replay certified")
def _split_reused():
    def both(n, shares, noise, units=None):
        return {name: np.arange(n) for name in _coin_split(n, shares, noise, units)}

    with patched((private_fair, "coin_split", both)):
        yield


@mutant("the split permutes the whole table", "replay certified")
def _permuted_split():
    def permuted(n, shares, noise, units=None):
        order = np.random.Generator(np.random.Philox(n)).permutation(n)
        ends = np.round(np.cumsum(list(shares.values())) * n).astype(int)
        return {
            name: np.sort(order[low:high])
            for name, low, high in zip(shares, [0, *ends], ends, strict=False)
        }

    with patched((private_fair, "coin_split", permuted)):
        yield


@mutant("a quote reaches into the lines after its own", "lines")
def _quotes_across_lines():
    def crossing(path):
        return pl.read_csv(
            path, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy"
        )

    with patched((table, "read_lines", crossing)):
        yield


_exact_counts = release_module.exact_counts


@mutant("a nearly empty group is skipped", "replay reuse")
def _group_skipped():
    def skipped(scores, groups, labels, k, edges):
        counts = _exact_counts(scores, groups, labels, k, edges)
        counts[counts.sum(axis=(1, 2)) < 2] = -5
        return counts

    with patched((release_module, "exact_counts", skipped)):
        yield


@mutant("the scaler is fitted on the data", "replay logistic-sgd")
def _scaler_from_data():
    real = features._standardised

    def fitted(schema, records):
        centred = records.numeric - np.nan_to_num(np.nanmean(records.numeric, axis=0))
        return real(schema, replace(records, numeric=centred))

    with patched((features, "_standardised", fitted)):
        yield


@mutant("the classes are read off the data", "replay reuse")
def _classes_from_data():
    real = TabularInput._training_records

    def read(self, X, y, sensitive_features):
        records = real(self, X, y, sensitive_features)
        self.classes_ = np.unique(np.asarray(y, dtype=str))
        return records

    with patched((TabularInput, "_training_records", read)):
        yield


@mutant("true group sizes reach the rule unpaid", "replay algorithm2")
def _true_sizes():
    real = release_module.release_table

    def with_sizes(scores, groups, names, **how):
        release = real(scores, groups, names, **how)
        object.__setattr__(release, "sizes", tuple(np.bincount(groups, minlength=len(names))))
        return release

    with patched((private_fair, "release_table", with_sizes)):
        yield


@mutant("counts by group and label are listed as counts by group", "replay dp-fermi-odds")
def _labels_unlisted():
    def by_group(by=(), scope=""):
        return Assumption(by[:1], scope)

    with patched((dp_fermi, "Assumption", by_group)):
        yield


@mutant("the exact score decides who wins a search", "replay search")
def _exact_winner():
    def best(template, runs, fitting, validation, ledger, draw):
        tried = [
            search._run(template, runs, fitting, validation, ledger, draw)
            for _ in range(draw.runs())
        ]
        return max(tried, key=lambda run: search._right_and_wrong(run.model, validation)[0])

    with patched((search, "_best", best)):
        yield


@mutant("large tables get a smaller learning rate", "replay logistic")
def _rate_by_size():
    real = logistic.descend

    def descend(plan, design, *rest, optimizer, **named):
        if len(design) > 1000:
            optimizer.learning_rate /= 2
        return real(plan, design, *rest, optimizer=optimizer, **named)

    with patched((logistic, "descend", descend)):
        yield
