"""Broken training: what a record contributes, and to which batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from trust.mutants.registry import again, mutant, patched

from dpfair.fairness import counting
from dpfair.learners import block_fit, blocks, descent, leaf_sums, logistic, visits
from dpfair.learners.exact import Grid
from dpfair.methods.base import PrivateClassifier
from dpfair.privacy import draw, events
from dpfair.privacy.noise import Noise

_clipped_sum = descent.clipped_sum


def _without_compiled_loop(*changes):
    return patched((descent, "can_compile", lambda: False), *changes)


@mutant("gradients are not clipped", "replay logistic-sgd")
def _no_clip():
    def unclipped(self, norms, batch, answers):
        return np.ones_like(norms), self.norm

    with _without_compiled_loop((descent.FlatClip, "__call__", unclipped)):
        yield


@mutant("the sum is clipped instead of its parts", "clipping")
def _clip_after_sum():
    def after(clip, rows, batch, answers, coefficients, extra):
        total = rows.weighted_sum(coefficients)
        norm = float(np.linalg.norm(total))
        return total * min(1.0, clip.norm / max(norm, 1e-300)), clip.norm

    with _without_compiled_loop((descent, "clipped_sum", after)):
        yield


@mutant("one scale for the whole batch", "clipping")
def _clip_per_batch():
    def together(self, norms, batch, answers):
        worst = float(norms.max()) if len(norms) else 1.0
        scale = min(1.0, self.norm / max(worst, 1e-300))
        return np.full_like(norms, scale), self.norm

    with _without_compiled_loop((descent.FlatClip, "__call__", together)):
        yield


@mutant("half of the true sensitivity is stated", "replay logistic")
def _half_sensitivity():
    real = draw.Draw.gaussian

    def half(self, value, sensitivity, noise_multiplier=None):
        return real(self, value, sensitivity / 2, noise_multiplier)

    with patched((draw.Draw, "gaussian", half)):
        yield


@mutant(
    "replacing a record is priced as removing one",
    "replay reuse",
    "audit table of scores, replace-one",
)
def _priced_as_add_remove():
    real = events.noisy_table

    def cheap(epsilon, relation):
        return real(epsilon, "add_remove")

    with patched((counting, "noisy_table", cheap)):
        yield


@mutant("integer gradients are not clipped", "replay logistic-clipped-exact")
def _no_exact_clip():
    real = descent.exact_logistic_sum

    def unclipped(design, chosen, targets, parameters, limit, grid, **how):
        return real(design, chosen, targets, parameters, 1e9, grid, **how)

    with patched((descent, "exact_logistic_sum", unclipped)):
        yield


# --- blocks of columns ---------------------------------------------------------------------


@mutant("residuals of a block are not clipped", "replay reuse-blocks")
def _unclipped_residuals():
    def unclipped(labels, chance):
        return labels - chance, leaf_sums.HESSIAN_SCALE * chance * (1 - chance)

    plain = (leaf_sums, "can_compile", lambda: False)
    with patched(plain, (leaf_sums, "residuals_and_hessians", unclipped)):
        yield


@mutant("the sensitivity of a block forgets the Hessians", "replay reuse-blocks")
def _without_hessians():
    with patched((visits, "SENSITIVITY", 0.5)):
        yield


@mutant("pairs are screened by their exact sums", "replay reuse-blocks")
def _exact_screen():
    real = visits.visit

    class Watched(visits.CellSums):
        def interaction(self, shape):
            return exact[-1].interaction(shape)

    def visit(draws, multiplier, whole, size):
        noisy = real(draws, multiplier, whole, size)
        gradients, hessians = whole() * Grid.of(leaf_sums.SENSITIVITY, multiplier).cell
        exact.append(visits.CellSums(gradients, np.maximum(2 * hessians, 1), 0.0))
        return Watched(noisy.gradients, noisy.hessians, noisy.deviation)

    exact = []
    with patched((block_fit, "visit", visit)):
        yield


@mutant("histograms are grouped by their exact counts", "replay reuse-blocks")
def _exact_masses():
    real = blocks.noisy_counts

    def exact(draw, counts, sizes):
        real(draw, counts, sizes)
        return counts()

    with patched((blocks, "noisy_counts", exact)):
        yield


# --- sampling -------------------------------------------------------------------------------


_poisson = Noise.poisson_batch
_exact_batch = Noise.exact_batch


@mutant(
    "batches five times as large as paid for",
    "audit gradient step on a Poisson batch",
    instead_of=(Noise, "poisson_batch"),
)
def _larger_batches(self, population, rate):
    return _poisson(self, population, min(1.0, 5 * rate))


@mutant(
    "whole-number batches five times as large as paid for",
    "batches",
    instead_of=(Noise, "exact_batch"),
)
def _large_exact_batches(self, population, rate):
    return _exact_batch(self, population, 5 * rate)


@mutant("everybody is in every batch", "audit gradient step on a Poisson batch, exact arithmetic")
def _everybody_in_batch():
    with patched((Noise, "exact_batch", lambda self, population, rate: np.arange(population))):
        yield


@mutant("a second step sees the batch of the first", "audit two steps on Poisson batches")
def _same_batch_twice():
    with patched((Noise, "poisson_batch", again(_poisson))):
        yield


@mutant("shuffled batches of a fixed size", "batches", instead_of=(Noise, "poisson_batch"))
def _shuffled(self, population, rate):
    size = round(population * rate)
    return np.sort(np.argsort(self.uniforms(population))[:size])


@mutant("the sampling rate is taken from the data", "replay logistic-sgd")
def _rate_from_data():
    real = PrivateClassifier.learn

    def learn(self, records, run):
        planned = self.plan(replace(self.schema_, rows=len(records)))
        return real(self, records, planned.open(run.noise))

    with patched((PrivateClassifier, "learn", learn)):
        yield


def _descend_with(change: Callable[..., None]) -> Any:
    """The loop of the library with one line changed."""

    def descend(plan, design, labels, groups, *, objective, optimizer, receipt, start=None, **_):
        parameters = np.zeros(design.width) if start is None else start
        targets = labels.astype(np.float32)
        for _ in range(plan.steps):
            one = receipt.draw(plan.step_event)
            chosen = one.batch(len(design))
            rows = design.take(chosen)
            batch = descent.Batch(
                rows.scores(parameters.astype(np.float32)), targets[chosen], groups[chosen]
            )
            coefficients, extra = objective.gradients(batch, parameters[:0], [])
            exact, norm = _clipped_sum(plan.clip, rows, batch, [], coefficients, extra)
            divisor = change(plan, rows, batch)
            if divisor is None:
                continue
            if divisor is StopIteration:
                break
            noisy = one.gaussian(exact, norm, plan.noise_multiplier)
            parameters = optimizer.step(parameters, noisy / divisor)
        return parameters

    return descend


@mutant("the sum is divided by the true size of the batch", "replay logistic-sgd")
def _true_divisor():
    changed = _descend_with(lambda plan, rows, batch: max(len(rows), 1))
    with patched((logistic, "descend", changed)):
        yield


@mutant("an empty batch is skipped without noise", "replay logistic-sgd")
def _empty_batch_skipped():
    changed = _descend_with(lambda plan, rows, batch: plan.divisor if len(rows) else None)
    with patched((logistic, "descend", changed)):
        yield


@mutant("training stops early by the private loss", "replay logistic")
def _early_stop():
    def loss(plan, rows, batch):
        signs = 1 - 2 * batch.labels
        mean = float(np.mean(np.logaddexp(0, signs * batch.scores))) if len(rows) else 1.0
        return StopIteration if mean < 0.62 else plan.divisor

    with patched((logistic, "descend", _descend_with(loss))):
        yield
