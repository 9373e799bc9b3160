"""Broken discovery of facts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from trust.mutants.registry import mutant, patched

from dpfair.data.columns import Numeric
from dpfair.discovery.discover import Discovery
from dpfair.methods import base
from dpfair.privacy import draw, events
from dpfair.privacy.accountants import pld

_find = Discovery.find
_threshold = draw.naming_threshold


@mutant("values are named without a threshold", "audit words that are not declared")
def _no_threshold():
    with patched((draw, "naming_threshold", lambda variance, delta: -(10**9))):
        yield


@mutant("rare values are named in a fit", "replay discovery-reuse")
def _low_threshold():
    with patched((draw, "naming_threshold", lambda variance, delta: 0)):
        yield


@mutant("the threshold forgets that a count of one has noise", "naming threshold")
def _threshold_of_zero():
    with patched(
        (draw, "naming_threshold", lambda variance, delta: _threshold(variance, delta) // 2)
    ):
        yield


@mutant("naming costs no delta", "naming account")
def _no_delta():
    named = events.ThresholdedDpEvent

    def without(leaf, count, interval, relation):
        if isinstance(leaf, named):
            leaf = events.step_event(leaf.noise_multiplier, 1.0, exact=True)
        return leaf_distribution(leaf, count, interval, relation)

    leaf_distribution = pld._leaf_distribution
    with patched((pld, "_leaf_distribution", without)):
        yield


@mutant("records of a person are bounded after they are counted", "replay discovery-persons-reuse")
def _bounded_late():
    with patched((base, "bound_units", lambda units, most: np.arange(len(units)))):
        yield


@mutant("the grid of a column follows its records", "replay discovery-reuse")
def _grid_from_data():
    def find(self, records, receipt):
        columns = list(self.schema.columns)
        for place, column in enumerate(self.schema.numeric):
            values = records.numeric[place].floats
            finite = values[np.isfinite(values)]
            if len(np.unique(finite)) > 1:
                bounds = (float(finite.min()), float(finite.max()))
                columns[columns.index(column)] = Numeric(column.name, bounds)
        read_off = replace(self, schema=replace(self.schema, columns=tuple(columns)))
        return _find(read_off, records, receipt)

    with patched((Discovery, "find", find)):
        yield
