"""What a fit leaves behind: a closed set of parts that can be written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dpfair.fairness.choice import ChosenRule
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule
from dpfair.learners.protocols import Scorer

__all__ = ["Fitted"]


@dataclass(frozen=True)
class Fitted:
    """A scorer, what was released about its scores, and the rule that follows.

    Parameters
    ----------
    scorer
        From records to scores.
    releases
        The released tables, by the name of the step that paid for each.
    rule
        From a group and a score to the probability of acceptance; None if a score above one half
        is accepted.
    planned
        The rule whose decisions were counted, if the final one corrects it.
    rates
        The acceptance rates that thresholds were placed at, if they were planned.
    notion
        What is fair by the settings that the fit was planned with, if they say so; ``with_rule``
        does not change it.
    coin_key
        The key of the decision coins.
    chosen
        The rule with its estimates. It follows from the releases and is not stored.
    """

    scorer: Scorer
    releases: Mapping[str, Release] = field(default_factory=dict)
    rule: Rule | None = None
    planned: Rule | None = None
    rates: tuple[float, ...] | None = None
    notion: str = ""
    coin_key: bytes = b""
    chosen: ChosenRule | None = field(default=None, compare=False)

    @property
    def counted(self) -> Release | None:
        """The release that counts the most of what the rule decides, if there is one."""
        return self.releases.get("decisions", self.releases.get("count"))
