"""The declared scopes of a ledger file, and names that could be mistaken for one of them.

A scope that does not contain another is taken to have no person in common with it. A second
spelling of a scope would therefore get a second budget for the same people. So a scope is declared
before it is charged, and a name that looks like a declared one is refused.

Two names look alike if they have a *skeleton* in common, as in Unicode Technical Standard 39. The
skeleton of a name is found for the name as written, in small letters and in capitals (a Greek nu
looks like v, its capital like N). It is the name in the normal form NFKD, without marks, white
space and invisible characters, without leading zeros of numbers, without punctuation except a
hyphen between digits, with every letter of :data:`_LOOKS` replaced by the one that it looks like,
and case-folded. So ``north``, ``North``, ``n0rth``, ``nor-th``, ``(north)`` and ``n\\u043erth``
(with a Cyrillic o) are one name, and so are ``ian``, ``lan`` and ``1an``.

Limits: the standard's table has several thousand entries and this one the letters of the Latin,
Cyrillic, Greek and Armenian alphabets; of other scripts, only marks, case and digits are compared.
Letters of two scripts in one part of a path are refused, and so are scripts that are hardly used
today. Words that mean the same (``north`` and ``N``) are not detected.

Verification repeats these checks: a change of the table is a change of the ledger's format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from difflib import get_close_matches

from dpfair.errors import InputError
from dpfair.privacy.ledger import check_scope

__all__ = ["Scopes", "skeletons"]

_LOOKS = {
    "a": "аАΑαɑ",
    "b": "вВьЬΒβ",
    "c": "сСϲϹ",
    "d": "ԁԀ",
    "e": "еЕΕεєЄ",
    "f": "ғҒ",
    "g": "ԍԌց",
    "h": "нНһҺΗհ",
    "i": "іιɩ",
    "j": "јЈյ",
    "k": "кКΚκ",
    "l": "I1ІΙӀӏԼ",
    "m": "мМΜ",
    "n": "пηΝո",
    "o": "0оОοΟσօՕ",
    "p": "рРρΡ",
    "q": "ԛԚզ",
    "r": "г",
    "s": "ѕЅՏ",
    "t": "тТτΤ",
    "u": "υμսՍ",
    "v": "νѵѴ",
    "w": "ωшѡѠԝԜ",
    "x": "хХχΧ",
    "y": "уУγΥүҮ",
    "z": "Ζ",
    "3": "зЗ",
    "4": "чЧ",
    "6": "б",
    "\N{GREEK SMALL LETTER GAMMA}": "Г",
    "\N{GREEK SMALL LETTER LAMDA}": "лЛ",
    "\N{GREEK SMALL LETTER PI}": "П",
    "\N{GREEK SMALL LETTER PHI}": "фФ",
}
_LIKE = {ord(letter): like for like, letters in _LOOKS.items() for letter in letters}

# No normal form separates a stroke, a hook and the like from its letter.
_VARIANT = re.compile(r"LATIN (?:SMALL |CAPITAL )?LETTER (?:[A-Z]+ )*?([A-Z])(?: WITH .*)?")

# Printable by their category, but invisible.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_PUNCTUATION = " -_.,:+=&()"
# All of these look like a hyphen, which counts only between digits or letters that look like them.
_HYPHENS = re.compile("[-_.,:+=&()]+")
_DASHES = [re.compile(rf"(?<!{d})-|-(?!{d})") for d in (r"\d", r"[\dOoIl]")]
_LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")

# The scripts that Unicode Standard Annex 31 recommends for identifiers, as characters' names begin.
_EAST_ASIAN = frozenset(
    ("BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA", "KATAKANA-HIRAGANA")
)
_SCRIPTS = _EAST_ASIAN | frozenset(
    (
        *("ARABIC", "ARMENIAN", "BENGALI", "CYRILLIC", "DEVANAGARI", "ETHIOPIC", "GEORGIAN"),
        *("GREEK", "GUJARATI", "GURMUKHI", "HEBREW", "KANNADA", "KHMER", "LAO", "LATIN"),
        *("MALAYALAM", "MYANMAR", "ORIYA", "SINHALA", "TAMIL", "TELUGU", "THAANA", "THAI"),
        "TIBETAN",
    )
)


class Scopes:
    """The declared scopes of one ledger; the whole data set always is one.

    Examples
    --------
    >>> scopes = Scopes()
    >>> scopes.add("north")
    >>> scopes.check("north")
    >>> scopes.check("N0rth")
    Traceback (most recent call last):
    dpfair.errors.InputError: The scope 'N0rth' looks like 'north', which is declared; use 'north'.
    """

    def __init__(self) -> None:
        self._known: dict[str, None] = {"": None}
        self._alike: dict[tuple[str, str], str] = {}

    def __contains__(self, scope: object) -> bool:
        return scope in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def add(self, scope: str) -> None:
        """Add a declared scope."""
        parent, _, name = scope.rpartition("/")
        self._known[scope] = None
        for skeleton in skeletons(name):
            self._alike.setdefault((parent, skeleton), scope)

    def check(self, scope: str, *, new: bool = False) -> None:
        """Raise unless the scope is declared, or is ``new`` and may be declared now."""
        if scope in self._known:
            return
        parent, _, name = scope.rpartition("/")
        for part in (scope, *_prefixes(parent)):
            alike = self._lookalike(part)
            if alike is not None and alike != part:
                other = f"{alike!r}, which is declared" if alike else "'', the whole data set"
                raise InputError(f"The scope {part!a} looks like {other}; use {alike!r}.")
        check_scope(scope)
        if not new:
            near = get_close_matches(scope, [known for known in self._known if known], n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(
                f"The scope {scope!r} was not declared.{hint} A new one is declared by 'dpfair "
                "ledger scope add', by --new-scope, or in Python by new_scope=True."
            )
        if parent not in self._known:
            raise InputError(
                f"The scope {scope!r} is a part of {parent!r}, which was not declared: declare "
                "that one first."
            )
        _check_letters(name)

    def _lookalike(self, scope: str) -> str | None:
        """The declared scope that this one is or looks like; empty parts are ignored."""
        found = ""
        for name in scope.split("/"):
            exact = f"{found}/{name}" if found else name
            if exact in self._known:
                found = exact
                continue
            seen = skeletons(name)
            alike = [self._alike[found, s] for s in seen if (found, s) in self._alike]
            if alike:
                found = min(alike)
            elif seen != {""}:
                return None
        return found


def _prefixes(path: str) -> Iterator[str]:
    """A path and all paths that contain it, except the whole data set."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def skeletons(name: str) -> frozenset[str]:
    """The skeletons of a part of a path.

    >>> skeletons("North") & skeletons("n\\u043erth")
    frozenset({'north'})
    """
    texts = (name, name.lower(), name.upper())
    return frozenset(_skeleton(text, dashes) for text in texts for dashes in _DASHES)


def _skeleton(name: str, dashes: re.Pattern[str]) -> str:
    seen = "".join(
        character
        for character in _INVISIBLE.sub("", unicodedata.normalize("NFKD", name))
        if not unicodedata.combining(character) and unicodedata.category(character)[0] not in "CZ"
    )
    seen = _HYPHENS.sub("-", "".join(map(_plain, seen)))
    seen = dashes.sub("", _LEADING_ZEROS.sub("", seen))
    folded = seen.translate(_LIKE).casefold()
    return folded.replace("rn", "m").replace("vv", "w")


def _plain(character: str) -> str:
    """The Latin letter or digit that a character is a variant of."""
    if character.isascii():
        return character
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    variant = _VARIANT.fullmatch(unicodedata.name(character, ""))
    return variant[1].lower() if variant else character


def _check_letters(name: str) -> None:
    scripts = set()
    for character in name:
        kind = unicodedata.category(character)
        if kind[0] == "L":
            scripts.add(unicodedata.name(character, "").split(" ")[0])
        elif not (kind[0] == "M" or kind == "Nd" or character in _PUNCTUATION):
            scripts.add("none")
    if not scripts <= _SCRIPTS or len(scripts - _EAST_ASIAN) > 1 or _INVISIBLE.search(name):
        raise InputError(
            "Expected every part of a new scope to be of letters of one script, digits and "
            f"{_PUNCTUATION.strip()}, got {name!a}."
        )
