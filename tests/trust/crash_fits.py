"""Real fits as the jobs of :mod:`trust.crash`: the first noisy answer counts as released."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sample_tables import LOANS, make_loans
from trust.crash import Job, Release

from dpfair import ChargeTo, PrivateFairClassifier, PrivateLogisticRegression, Schema
from dpfair.learners.logistic import LogisticLearner
from dpfair.privacy.noise import Noise, noise_from

__all__ = ["fitting"]

T = TypeVar("T")


def fitting(path: Path) -> Job:
    """Fit in turns a scorer and a fair classifier, both charged to the file.

    Whoever watches the process sees noisy answers before the fit ends, so the first one of them,
    and not the finished model, is what must have been paid for.
    """
    X, y = make_loans(60)
    schema = Schema.from_dict(LOANS)
    turns = [
        PrivateLogisticRegression(0.01, schema=schema, steps=3),
        PrivateFairClassifier(0.01, schema=schema, mode="reuse", learner=LogisticLearner(steps=3)),
    ]

    def job(key: str, release: Release) -> None:
        turns.append(turns.pop(0))
        watched = Watched(release)
        with noise_from(lambda seed: watched):
            turns[0].set_params(ledger=ChargeTo(path, key=key)).fit(X, y)
        assert watched.answers

    return job


class Watched(Noise):
    """Secure noise whose first answer counts as released."""

    def __init__(self, release: Release) -> None:
        super().__init__()
        self.release, self.answers = release, 0

    def answer(self, question: object, noisy: Callable[[], T]) -> T:
        """Answer, and say so the first time."""
        answer = super().answer(question, noisy)
        if not self.answers:
            self.release()
        self.answers += 1
        return answer
