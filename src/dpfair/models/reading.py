"""Reading what a model file says, with errors that a user can act on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpfair.errors import BudgetError, InputError, ModelFileError, ReceiptError
from dpfair.learners.protocols import Tensors
from dpfair.methods.header_limits import MAX_BYTES
from dpfair.models.content import NotAModelError, read_content

__all__ = ["check_entries", "printable", "reading"]

# What a hostile header can raise in a reader that takes it for an honest one.
_MALFORMED = (
    BudgetError,
    ReceiptError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)

_KEYS = {
    *("version", "dpfair", "method", "settings", "schema", "classes", "plan", "search", "seeded"),
    *("row", "facts", "notion", "scorer", "releases", "planned", "rates", "rule", "coin_key"),
}


@contextmanager
def reading(path: str | Path) -> Iterator[tuple[dict[str, Any], Tensors]]:
    """The header and the numbers of a file; whatever its reader raises becomes one sentence."""
    path = Path(path)
    name = printable(str(path))
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError:
        size = None
    if size is None:
        if os.path.isdir(path):  # also for a name that is too long: Path.is_dir raises then
            raise ModelFileError(f"{name} is a directory: name a model file.")
        raise ModelFileError(f"There is no model file {name}.")
    if size > MAX_BYTES:
        raise ModelFileError(f"The model file {name} is larger than {MAX_BYTES >> 20} MB.")
    try:
        yield read_content(path)
    except NotAModelError as error:
        raise ModelFileError(
            f"The file {name} is not a model file: it looks like {error}. A model file is what "
            "dpfair fit --out or save_model writes."
        ) from error
    except ModelFileError as error:  # of another version, or not complete without its code
        found = f"The model file {name} cannot be read here. {printable(str(error))}"
        raise type(error)(found) from error
    except _MALFORMED as error:
        detail = str(error) if isinstance(error, InputError) else "Its content is malformed."
        raise ModelFileError(
            f"The file {name} is not a valid dpfair model. {printable(detail)}"
        ) from error


def check_entries(header: dict[str, Any]) -> None:
    """Refuse a header with other entries than a model file has."""
    if set(header) != _KEYS or not re.fullmatch(r"[\w.+-]{1,50}", header["dpfair"]):
        raise InputError("It does not have the entries of a model file.")


def printable(text: str) -> str:
    """One short line, whatever a file says."""
    plain = "".join(c if c.isprintable() else "?" for c in text[:1000])
    return plain if len(plain) <= 300 else f"{plain[:300]} ..."
