"""The few errors a user can meet, each with one sentence to act on.

No message ever contains a value of a record: only parameters, column names and declared
categories, which are public.
"""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "AccuracyWarning",
    "BudgetError",
    "DataIntegrityError",
    "DpfairError",
    "FairnessWarning",
    "InputError",
    "LedgerFileError",
    "LedgerTamperedError",
    "MissingCodeError",
    "ModelFileError",
    "NoAnswerError",
    "NoRoomError",
    "NoRuleError",
    "PaidBeforeError",
    "PrivacyLeakWarning",
    "ReceiptError",
    "SchemaError",
    "WeakPrivacyWarning",
    "warn",
]


class DpfairError(Exception):
    """Any error raised on purpose by dpfair."""


class InputError(DpfairError, ValueError):
    """A parameter or a file given by the user cannot be used (exit code 2)."""


class SchemaError(InputError):
    """A schema is malformed, or names what the table does not have."""


class ModelFileError(InputError):
    """A model file is unreadable, malformed or hostile."""


class MissingCodeError(ModelFileError):
    """A model file needs code that it does not hold; none was given, or another one."""


class DataIntegrityError(InputError):
    """A shipped file is not the one that was published with the package."""


class NoAnswerError(InputError):
    """An accountant has no finite epsilon for a delta."""


class NoRoomError(InputError):
    """Temporary files, or the journal of a job, need more room than there is."""


class NoRuleError(InputError):
    """No decision rule meets all of the demands at once."""


class BudgetError(DpfairError):
    """A charge would exceed the privacy budget; nothing was charged (exit code 3)."""


class ReceiptError(DpfairError):
    """Noise was asked for that no receipt has paid for."""


class PrivacyLeakWarning(UserWarning):
    """Something was learned from private records without paying for it."""


class WeakPrivacyWarning(UserWarning):
    """The privacy parameters promise less than they seem to."""


class AccuracyWarning(UserWarning):
    """Something costs more accuracy than it needs to."""


class FairnessWarning(UserWarning):
    """A model is private, but nothing makes it fair."""


class LedgerFileError(InputError):
    """A ledger file cannot be used where it is, or could not be read or written."""


class LedgerTamperedError(LedgerFileError):
    """A ledger file is damaged, or says what dpfair did not write."""


class PaidBeforeError(InputError):
    """A job was charged before under the same key; its noise is not drawn a second time."""


def warn(text: str, kind: type[Warning]) -> None:
    """Warn at the line that called dpfair, however deep inside dpfair the reason is."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith("dpfair."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, stacklevel=level)
