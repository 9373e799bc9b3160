"""Noise that tells what it was asked."""

from __future__ import annotations

from dpfair.privacy.noise import Noise

__all__ = ["Recording"]


class Recording(Noise):
    """Remembers questions and answers, or gives the answers of another run."""

    def __init__(self, answers=None):
        super().__init__(5)
        self.questions, self.answers, self.given = [], [], answers

    def answer(self, question, noisy):
        self.questions.append(question)
        self.answers.append(noisy() if self.given is None else self.given[len(self.answers)])
        return self.answers[-1]
