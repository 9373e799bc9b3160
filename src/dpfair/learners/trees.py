"""Decision trees of random structure: drawn without looking at a record, so they cost nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.features import coarse_codes, coarse_sizes
from dpfair.learners.protocols import Tensors
from dpfair.learners.scorer import LinearScorer, in_parts, probabilities
from dpfair.privacy.noise import Noise

__all__ = ["BoostedScorer", "RandomTrees"]

Codes = NDArray[np.integer[Any]]

MAX_TREES, MAX_DEPTH = 2000, 10

# Any number would do: the structure is public.
_STRUCTURE_SEED = 20


@dataclass(frozen=True)
class RandomTrees:
    """Oblivious trees: all nodes of a level ask the same question about one column's public bins.

    A question is drawn at random: a column, and a set of its bins: those from a random one on, or
    (for half of the questions about categories) an arbitrary subset.
    """

    schema: Schema
    trees: int
    depth: int

    def __post_init__(self) -> None:
        validate.at_least(1, trees=self.trees, depth=self.depth)
        if self.trees > MAX_TREES or self.depth > MAX_DEPTH:
            raise InputError(f"Expected at most {MAX_TREES} trees of depth {MAX_DEPTH}.")

    @property
    def leaves(self) -> int:
        """The leaves of one tree."""
        return 1 << self.depth

    def leaf(self, tree: int, codes: dict[str, Codes]) -> NDArray[np.uint16]:
        """The leaf of every record, from the bins of its columns."""
        rows = len(next(iter(codes.values())))
        leaf = np.zeros(rows, dtype=np.uint16)
        for column, yes in _questions(self.schema, self.trees, self.depth)[tree]:
            leaf += leaf
            leaf += yes[codes[column]]
        return leaf

    def codes(self, records: Records) -> dict[str, Codes]:
        """What the questions are asked about."""
        return coarse_codes(self.schema, records)


@lru_cache(maxsize=8)
def _questions(schema: Schema, trees: int, depth: int) -> list[list[tuple[str, NDArray[np.uint8]]]]:
    noise = Noise(_STRUCTURE_SEED)
    sizes = list(coarse_sizes(schema).items())
    ordered = {c.name for c in schema.numeric}
    drawn = []
    for _ in range(trees):
        questions = []
        for pick, kind, place in noise.uniforms(3 * depth).reshape(depth, 3):
            name, size = sizes[int(pick * len(sizes))]
            bins = np.arange(size)
            yes = bins >= 1 + int(place * (size - 1))
            if name not in ordered and kind < 0.5:
                yes = noise.uniforms(size) < 0.5
            questions.append((name, yes.astype(np.uint8)))
        drawn.append(questions)
    return drawn


@dataclass(frozen=True)
class BoostedScorer:
    """The log-odds of a linear scorer plus one number per tree, by the record's leaf."""

    linear: LinearScorer
    structure: RandomTrees
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        expected = (self.structure.trees, self.structure.leaves)
        if self.values.shape != expected or not np.isfinite(self.values).all():
            raise InputError(f"Expected finite leaf values of shape {expected}.")

    @classmethod
    def from_tensors(cls, schema: Schema, features: str, tensors: Tensors) -> BoostedScorer:
        """The scorer of a file; the number of leaves says how deep its trees are."""
        weights = {name: tensor for name, tensor in tensors.items() if name != "leaves"}
        linear = LinearScorer.from_tensors(schema, features, weights)
        if "leaves" not in tensors or tensors["leaves"].ndim != 2:
            raise InputError("It does not hold the leaves of trees.")
        trees, leaves = tensors["leaves"].shape
        structure = RandomTrees(schema, trees, leaves.bit_length() - 1)
        return cls(linear, structure, tensors["leaves"])

    @property
    def form(self) -> tuple[str, Schema]:
        """That of the linear scorer."""
        return self.linear.form

    def tensors(self) -> Tensors:
        """The weights of the linear part, and the numbers of the leaves."""
        return {**self.linear.tensors(), "leaves": self.values}

    def scores(self, records: Records) -> NDArray[np.float64]:
        """The estimated probability of the positive label, per record."""
        return probabilities(in_parts(self._odds, records))

    def _odds(self, records: Records) -> NDArray[np.float64]:
        odds, codes = self.linear.log_odds(records), self.structure.codes(records)
        for tree, values in enumerate(self.values):
            odds += values.take(self.structure.leaf(tree, codes))
        return odds
