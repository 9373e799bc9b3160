"""A certificate is its two claims, and survives plain data."""

from __future__ import annotations

import json

from certificate.claims import chosen_claim, flipped_claim, privacy_claim

from dpfair.certificate import Certificate
from dpfair.certificate.text import sentences


def test_a_certificate_survives_plain_data():
    for fairness in (chosen_claim(), flipped_claim()):
        certificate = Certificate("a method", privacy_claim(), fairness)
        data = json.loads(json.dumps(certificate.to_json()))
        assert data["privacy"]["private"] is True
        assert Certificate.from_json(data) == certificate


def test_a_certificate_says_what_its_claims_say():
    certificate = Certificate("a method", privacy_claim(), chosen_claim())
    assert certificate.sentences() == sentences(certificate.privacy, certificate.fairness)
    assert str(certificate).split("\n") == certificate.sentences()
    assert certificate.judgements == {
        "privacy": certificate.privacy.judgement,
        "gap": certificate.fairness.gap_judgement,
        "accuracy": certificate.fairness.accuracy_judgement,
    }
