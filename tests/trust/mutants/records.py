"""Broken handling of records: who is read, counted and in which scope."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from record_arrays import numbers_in
from trust.mutants.registry import mutant, patched

from dpfair.data import read as reading
from dpfair.data.compact import Numbers
from dpfair.fairness import counting
from dpfair.learners import logistic
from dpfair.methods import search, tables
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.search import PrivateSearchCV
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.plan import Run


@mutant("all records are in both scopes", "replay certified", instead_of=(Run, "parts"))
def _split_reused(self, records):
    return dict.fromkeys(self.plan.shares, records)


@mutant("the split permutes the whole table", "replay certified", instead_of=(Run, "parts"))
def _permuted_split(self, records):
    n, shares = len(records), self.plan.shares
    order = np.random.Generator(np.random.Philox(n)).permutation(n)
    ends = np.round(np.cumsum(list(shares.values())) * n).astype(int)
    return {
        name: records.take(np.sort(order[low:high]))
        for name, low, high in zip(shares, [0, *ends], ends, strict=False)
    }


@mutant("a quote reaches into the lines after its own", "lines", instead_of=(reading, "read_lines"))
def _quotes_across_lines(path, file):
    return pl.read_csv(path, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy")


_exact_counts = counting.exact_counts


@mutant("a nearly empty group is skipped", "replay reuse", instead_of=(counting, "exact_counts"))
def _group_skipped(scores, groups, labels, k, edges):
    counts = _exact_counts(scores, groups, labels, k, edges)
    counts[counts.sum(axis=(1, 2)) < 2] = -5
    return counts


@mutant("the scaler is fitted on the data", "replay logistic-sgd")
def _scaler_from_data():
    real = logistic.design

    def fitted(features, schema, records):
        centred = numbers_in(records) - np.nan_to_num(np.nanmean(numbers_in(records), axis=0))
        return real(features, schema, replace(records, numeric=tuple(map(Numbers, centred.T))))

    with patched((logistic, "design", fitted)):
        yield


@mutant("the classes are read off the data", "replay reuse")
def _classes_from_data():
    real = PrivateClassifier.learn

    def learn(self, records, run):
        self.classes_ = self.classes_[np.unique(np.maximum(records.labels, 0))]
        return real(self, records, run)

    with patched((PrivateClassifier, "learn", learn)):
        yield


@mutant("true group sizes reach the rule unpaid", "replay algorithm2")
def _true_sizes():
    real = counting.release_cells

    def with_sizes(cells, names, **how):
        release = real(cells, names, **how)
        sizes = cells()[: release.counts.size].reshape(len(names), -1).sum(axis=1)
        object.__setattr__(release, "sizes", tuple(sizes.tolist()))
        return release

    with patched((tables, "release_cells", with_sizes)):
        yield


@mutant("counts by group and label are listed as counts by group", "replay dp-fermi-odds")
def _labels_unlisted():
    real = Ledger.assume

    def by_group(self, fact, value):
        return real(self, Assumption(fact.by[:1], fact.scope), value)

    with patched((Ledger, "assume", by_group)):
        yield


@mutant("the exact score decides who wins a search", "replay search")
def _exact_winner():
    real, exact = search.right_and_wrong, {}

    def remembered(model, records):
        exact[id(model)] = real(model, records)
        return exact[id(model)]

    def better(self, run, best):
        return exact.get(id(run.model), [-1])[0] > exact.get(id(best.model), [-1])[0]

    with patched((search, "right_and_wrong", remembered), (PrivateSearchCV, "better", better)):
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
