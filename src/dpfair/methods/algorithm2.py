"""Algorithm 2 of "Differentially Private Fair Binary Classifications", with its own settings."""

from __future__ import annotations

from dpfair.data.schema import Schema
from dpfair.learners.logistic import PAPER_SETTINGS, PrivateLogisticRegression
from dpfair.methods.fair_classifier import PrivateFairClassifier

__all__ = ["paper_algorithm2"]


def paper_algorithm2(
    epsilon: float,
    delta: float,
    *,
    schema: Schema,
    release_epsilon: float,
    epochs: int = 50,
    noise_multiplier: float | None = None,
    random_state: int | None = None,
) -> PrivateFairClassifier:
    """The paper's experiment: DP-SGD, then noisy group rates, added up by basic composition.

    Logistic regression with the group as an input, batches of 1024, clipping norm 1.5, learning
    rate 0.01; two thirds of the records train, one third estimates the rates; group sizes are
    public; ``release_epsilon`` is eps0 = eps1. Three things differ from the published code, each
    because it must for the claim to hold: batches are Poisson samples with noise calibrated to
    the sampling rate that is really used, numbers are standardised by the schema's public
    constants instead of training means, and the noise on the rates is discrete and exact.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> model = paper_algorithm2(3, 1e-5, schema=load_adult().schema, release_epsilon=0.05)
    >>> [scope for scope, _, _ in model.planned_events(model.schema)]
    ['train', 'release', 'release']
    """
    return PrivateFairClassifier(
        epsilon,
        delta,
        schema=schema,
        learner=PrivateLogisticRegression(
            **PAPER_SETTINGS | {"epochs": epochs, "noise_multiplier": noise_multiplier}
        ),
        rule="algorithm2",
        composition="basic",
        release_epsilon=release_epsilon,
        release_share=1 / 3,
        public_sizes=True,
        random_state=random_state,
    )
