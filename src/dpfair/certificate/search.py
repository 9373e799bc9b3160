"""The certificate of the winner of a private search."""

from __future__ import annotations

from dataclasses import replace

from dp_accounting.dp_event import RepeatAndSelectDpEvent

from dpfair.certificate.certificate import Certificate
from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.privacy import arithmetic_of
from dpfair.privacy.ledger import SEEDED, Ledger

__all__ = ["search_of", "winners_certificate"]


def winners_certificate(own: Certificate, ledger: Ledger) -> Certificate:
    """The certificate of a run, corrected for being the best of a search.

    The privacy is that of the search, whose scores are noisy counts, too. The bounds of a run with
    confidence 1 - eta / E[K] hold for the winner of K runs with confidence 1 - eta. Bounds on the
    *mean* gap of a run do not hold for the winner and are dropped. If the ledger paid for no
    search, the certificate is unchanged.
    """
    search = search_of(ledger)
    if search is None:
        return own
    privacy, fairness = own.privacy, own.fairness
    failure = min((1 - fairness.confidence) * float(search.mean), 1)
    leaks = privacy.leaks if ledger.private else (SEEDED, *privacy.leaks)
    return replace(
        own,
        method=f"{own.method}, the best of a private search",
        privacy=replace(
            privacy,
            epsilon=ledger.epsilon,
            delta=ledger.delta,
            spent=ledger.spent,
            composition=ledger.composition,
            arithmetic=arithmetic_of(ledger),
            assumed_public=(*privacy.assumed_public, "the candidates of the search"),
            leaks=tuple(dict.fromkeys(leaks)),
        ),
        fairness=_winners_fairness(fairness, failure),
    )


def _winners_fairness(fairness: FairnessClaim, failure: float) -> FairnessClaim:
    if failure >= 1:
        low = "the confidence is too low for the best of so many runs"
        reason = low if fairness.certified else fairness.reason
        return replace(
            fairness,
            confidence=0.0,
            certified=False,
            reason=reason,
            gap_bound=None,
            accuracy_bound=None,
            bounds={},
            pairs=(),
        )
    return replace(
        fairness,
        confidence=round(1 - failure, 12),
        bounds={k: v for k, v in fairness.bounds.items() if "(mean)" not in k},
    )


def search_of(ledger: Ledger) -> RepeatAndSelectDpEvent | None:
    """The search that a ledger paid for, or None."""
    events = [entry.event for entry in ledger.entries]
    return next((event for event in events if isinstance(event, RepeatAndSelectDpEvent)), None)
