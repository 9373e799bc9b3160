"""One spelling for the values of a column, however a file or a data frame writes them."""

from __future__ import annotations

from decimal import Decimal

from dpfair.errors import SchemaError

__all__ = ["check_text", "decimal_text", "is_text", "plain_text", "text_of"]

# Digits of a decimal number; those of data bases have 38 at most.
_LONGEST = 400


def text_of(value: object) -> str:
    """A value as text: 1, 1.0, "1" and "1.0" are the same, and so are True and "true".

    >>> text_of(1.0), text_of("1.0"), text_of("True"), text_of("01")
    ('1', '1', 'true', '01')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        return decimal_text(value)
    if isinstance(value, (dict, list)) or value is None or value != value:
        raise SchemaError("Values of a column must be text or numbers.")
    return plain_text(str(value))


def plain_text(text: str) -> str:
    """The one spelling of a whole number or a truth value; any other text as it is.

    >>> plain_text("-3.0"), plain_text("TRUE"), plain_text("0.50")
    ('-3', 'true', '0.50')
    """
    if text in ("True", "False", "TRUE", "FALSE"):
        return text.lower()
    return text[:-2] if text.endswith(".0") and text[:-2].lstrip("-").isdigit() else text


def decimal_text(number: Decimal) -> str:
    """A whole number as such; any other one as it is written, as in a file of text.

    >>> decimal_text(Decimal("1.00")), decimal_text(Decimal("0.50"))
    ('1', '0.50')
    """
    short = abs(number.adjusted()) < _LONGEST
    return str(int(number)) if short and number == number.to_integral_value() else str(number)


def is_text(value: object) -> bool:
    """Whether a file can hold the value as text; a lone surrogate cannot be encoded."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def check_text(value: object, what: str) -> None:
    """Refuse what is not text."""
    if not is_text(value):
        raise SchemaError(f"{what} must be text.")
