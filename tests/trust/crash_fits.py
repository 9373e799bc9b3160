"""Real fits as the jobs of :mod:`trust.crash`: the first noisy answer counts as released."""

from __future__ import annotations

from pathlib import Path

from sample_tables import LOANS, make_loans
from trust.crash import Job, Release

from dpfair import ChargeTo, PrivateFairClassifier, PrivateLogisticRegression, Schema
from dpfair.privacy.noise import Noise

__all__ = ["fitting"]


def fitting(path: Path) -> Job:
    """Fit in turns a scorer and a fair classifier, both charged to the file.

    Whoever watches the process sees noisy answers before the fit ends, so the first one of them,
    and not the finished model, is what must have been paid for.
    """
    X, y = make_loans(60)
    schema = Schema.from_dict(LOANS)
    learner = PrivateLogisticRegression(steps=3)
    turns = [
        PrivateLogisticRegression(0.01, schema=schema, steps=3),
        PrivateFairClassifier(0.01, schema=schema, mode="reuse", learner=learner),
    ]
    real = Noise.answer

    def job(key: str, release: Release) -> None:
        answers = []

        def watched(self, question, noisy):
            answer = real(self, question, noisy)
            if not answers:
                release()
            answers.append(question.kind)
            return answer

        turns.append(turns.pop(0))
        Noise.answer = watched  # type: ignore[method-assign]
        try:
            turns[0].set_params(ledger=ChargeTo(path, key=key)).fit(X, y)
        finally:
            Noise.answer = real  # type: ignore[method-assign]
        assert answers

    return job
