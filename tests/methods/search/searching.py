"""Searches that many tests make, and runs that can be watched."""

from __future__ import annotations

from dpfair import LogisticLearner, Noise, PrivateFairClassifier, PrivateSearchCV

__all__ = ["DELTA", "GRID", "FiveRuns", "Watched", "fair", "make_search", "watched"]

DELTA = 1e-5
GRID = {"learner__learning_rate": [0.01, 0.3], "learner__clip": [0.3, 1.0]}


def fair(**how):
    return PrivateFairClassifier(learner=LogisticLearner(steps=20), **how)


def make_search(schema, estimator=None, grid=GRID, **how):
    settings = {"epsilon": 3, "mean_runs": 3, "schema": schema, "random_state": 1} | how
    return PrivateSearchCV(fair() if estimator is None else estimator, grid, **settings)


class FiveRuns(Noise):
    """Makes every search one of five runs."""

    def repetitions(self, *law):
        return 5


class Watched(PrivateFairClassifier):
    """Calls ``before`` with every run that starts."""

    before = None

    def learn(self, records, run):
        Watched.before(self)
        super().learn(records, run)


def watched(before):
    Watched.before = staticmethod(before)
    return Watched(learner=LogisticLearner(steps=20))
