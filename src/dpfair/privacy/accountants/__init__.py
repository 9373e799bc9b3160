"""From events to epsilon: accountants, what a budget pays, and calibration.

========  ==================================================  ================
name      what it is                                          an upper bound?
========  ==================================================  ================
``pld``   privacy loss distributions (dp_accounting)          yes: the default
``rdp``   Renyi DP, the moments accountant (dp_accounting)    yes, looser
``prv``   privacy random variables (prv_accountant)           cross-check
``gdp``   central limit theorem (Bu et al. 2020)              **no**
========  ==================================================  ================

Each accountant is one module and one row of ``ACCOUNTANTS``. The ``prv`` accountant needs the extra
``dpfair[prv]``.
"""

from dpfair.privacy.accountants.accountant import Accountant
from dpfair.privacy.accountants.answers import (
    ACCOUNTANTS,
    Epsilon,
    cost,
    epsilon,
    epsilon_of,
    epsilons,
)
from dpfair.privacy.accountants.calibration import MAX_EPSILON, calibrate, calibrate_event
from dpfair.privacy.accountants.renyi import ORDERS, renyi_curve

__all__ = [
    "ACCOUNTANTS",
    "MAX_EPSILON",
    "ORDERS",
    "Accountant",
    "Epsilon",
    "calibrate",
    "calibrate_event",
    "cost",
    "epsilon",
    "epsilon_of",
    "epsilons",
    "renyi_curve",
]
