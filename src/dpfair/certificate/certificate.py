"""The certificate of a model: what it promises about privacy and about fairness."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.judgement import Judgement
from dpfair.certificate.privacy import PrivacyClaim
from dpfair.certificate.text import sentences

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """The privacy and the fairness claim of one model.

    The numbers are attributes of the claims, such as ``privacy.epsilon``, ``fairness.gap_bound``
    and ``fairness.accuracy_bound``; docs/certificates.md lists them.

    Examples
    --------
    >>> from dpfair import PrivateFairClassifier, load_adult
    >>> data = load_adult()
    >>> model = PrivateFairClassifier(epsilon=3, schema=data.schema).fit(data.X, data.y)
    >>> model.certificate_.fairness.certified
    True
    """

    method: str
    privacy: PrivacyClaim
    fairness: FairnessClaim

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain data."""
        data = asdict(self)
        data["privacy"]["private"] = self.privacy.private
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Certificate:
        """Read a certificate back."""
        return cls(
            method=str(data["method"]),
            privacy=PrivacyClaim.from_json(data["privacy"]),
            fairness=FairnessClaim.from_json(data["fairness"]),
        )

    @property
    def judgements(self) -> dict[str, Judgement | None]:
        """How much each claim says, by the rules of :mod:`dpfair.certificate.judgement`."""
        return {
            "privacy": self.privacy.judgement,
            "gap": self.fairness.gap_judgement,
            "accuracy": self.fairness.accuracy_judgement,
        }

    def sentences(self) -> list[str]:
        """The certificate in plain words, one line per promise or warning."""
        return sentences(self.privacy, self.fairness)

    def __str__(self) -> str:
        return "\n".join(self.sentences())
