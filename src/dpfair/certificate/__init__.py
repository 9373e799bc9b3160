"""What a fitted model promises, and how it is said."""

from dpfair.certificate.certificate import Certificate
from dpfair.certificate.fairness import FairnessClaim
from dpfair.certificate.parity import parity_claim
from dpfair.certificate.privacy import PrivacyClaim
from dpfair.certificate.rule import rule_claim

__all__ = ["Certificate", "FairnessClaim", "PrivacyClaim", "parity_claim", "rule_claim"]
