"""From ``--method``, ``--learner`` and ``--set`` to a model: by the tables of names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpfair.errors import InputError
from dpfair.validate import did_you_mean

if TYPE_CHECKING:
    from dpfair.methods.base import PrivateClassifier

__all__ = [
    "Given",
    "Setting",
    "either",
    "find_setting",
    "given_pairs",
    "make_model",
    "methods_from_tables",
    "methods_with",
    "settings_of",
]

OPTIONS = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "schema": "--schema",
    "sensitive": "--sensitive",
    "learner": "--learner",
    "relation": "--relation",
    "ledger": "--ledger",
    "unit": "--unit",
    "rows_per_unit": "--rows-per-unit",
    "random_state": "--seed",
}
"""Parameters that have an option of their own, which is no short form of ``--set``."""

_SILENT = {"verbose"}
"""Parameters that the command decides about itself."""


@dataclass(frozen=True)
class Setting:
    """A setting of a method, by its full name such as ``rule__tolerance``."""

    name: str
    kind: frozenset[str]
    default: Any

    @property
    def group(self) -> str:
        """The parameter that it belongs to; empty if it is one itself."""
        return self.name.rpartition("__")[0]

    @property
    def short(self) -> str:
        """The name without that of the group."""
        return self.name.rpartition("__")[2]


@dataclass(frozen=True)
class Given:
    """A setting as it was typed: by an option of its name, or with ``--set``."""

    name: str
    text: str
    typed: str


def make_model(
    method: str, learner: str | None, given: Iterable[Given], **shared: Any
) -> PrivateClassifier:
    """An unfitted model of a method.

    ``shared`` are parameters with options of their own, left out where the method has none such.
    """
    model = _method(method)
    own = model.get_params(deep=False)
    if learner is not None:
        model.set_params(learner=_learner(method, learner, own))
    found: dict[str, Any] = {}
    for one in given:
        setting = find_setting(model, method, one.name)
        if setting.name in found:
            raise InputError(f"The setting {setting.short} was given twice; give it once.")
        found[setting.name] = _value(setting, one)
    for name, option in (("unit", "--unit"), ("rows_per_unit", "--rows-per-unit")):
        if name not in own and shared.get(name) not in (None, 1):
            able = [n for n, kind in methods_from_tables().items() if name in kind().get_params()]
            raise InputError(
                f"The method {method} protects single records: {option} needs --method "
                f"{either(able)}."
            )
    shared = {name: value for name, value in shared.items() if name in own}
    model.set_params(**found, **shared)
    return model


def methods_from_tables() -> dict[str, type[PrivateClassifier]]:
    """The methods that are trained from a table alone, and need no classifier of the user's."""
    from dpfair.methods import METHODS

    return {n: kind for n, kind in METHODS.items() if "classifier" not in kind().get_params()}


def methods_with(ability: str) -> str:
    """The methods whose models can do something, such as ``frontier``, by name."""
    return either(name for name, kind in methods_from_tables().items() if hasattr(kind, ability))


def settings_of(model: Any) -> dict[str, Setting]:
    """What ``--set`` can set of a method or a learner, by full name."""
    groups: dict[str, Any] = model.nested() if hasattr(model, "nested") else {}
    found = _own_settings(model, "", {*OPTIONS, *_SILENT, *groups})
    for group, settings in groups.items():
        found |= _own_settings(settings, f"{group}__", set())
    return found


def find_setting(model: PrivateClassifier, method: str, name: str) -> Setting:
    """The setting of this name, which may be given without that of its group."""
    known = settings_of(model)
    if name in known:
        return known[name]
    found = [setting for setting in known.values() if setting.short == name]
    if len(found) == 1:
        return found[0]
    if found:
        names = either([setting.name for setting in found])
        raise InputError(f"The setting {name!r} is ambiguous; say {names}.")
    raise InputError(_why_unknown(model, method, name, known))


def given_pairs(pairs: Iterable[str]) -> list[Given]:
    """Settings written as ``name=value``.

    >>> given_pairs(["costs=5,1"])
    [Given(name='costs', text='5,1', typed='--set costs')]
    """
    found = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"Expected --set name=value, such as --set steps=50, got {pair!r}.")
        found.append(Given(name, text, f"--set {name}"))
    return found


def either(names: Iterable[str]) -> str:
    """Names with commas between them and "or" before the last.

    >>> either(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(", ".join(names).rsplit(", ", 1))


def _method(name: str) -> PrivateClassifier:
    from dpfair.methods import METHODS

    if name in METHODS:
        model = METHODS[name]()
        if "classifier" not in model.get_params():
            return model
        raise InputError(
            f"The method {name} needs a classifier of yours: use {type(model).__name__} in "
            f"Python, or --method {either(methods_from_tables())}."
        )
    able = methods_from_tables()
    guess = did_you_mean(name, able)
    raise InputError(f"Expected --method to be {either(able)}, got {name!r}{guess}.")


def _learner(method: str, name: str, own: dict[str, Any]) -> Any:
    from dpfair.learners import LEARNERS

    if "learner" not in own:
        able = [n for n, kind in methods_from_tables().items() if "learner" in kind().get_params()]
        raise InputError(
            f"The method {method} has no learner to choose: --learner needs --method "
            f"{either(able)}."
        )
    if name not in LEARNERS:
        guess = did_you_mean(name, LEARNERS)
        raise InputError(f"Expected --learner to be {either(LEARNERS)}, got {name!r}{guess}.")
    return LEARNERS[name]()


def _own_settings(owner: Any, prefix: str, left_out: set[str]) -> dict[str, Setting]:
    declared = inspect.signature(type(owner)).parameters
    found = {}
    for name, default in owner.get_params(deep=False).items():
        kind = _kind(declared[name].annotation)
        if name not in left_out and kind <= set(_FORMS):
            found[prefix + name] = Setting(prefix + name, kind, default)
    return found


def _kind(annotation: Any) -> frozenset[str]:
    """The types that a parameter may have, by name; the text of a module is not evaluated.

    >>> sorted(_kind("int | None"))
    ['None', 'int']
    """
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return frozenset(part.strip() for part in text.split("|"))


def _why_unknown(
    model: PrivateClassifier, method: str, name: str, known: dict[str, Setting]
) -> str:
    own = model.get_params(deep=False)
    if name in OPTIONS:
        return f"Expected {name} as the option {OPTIONS[name]}, not with --set."
    members = [setting.short for setting in known.values() if setting.group == name]
    if members:
        return f"{name} is a group of settings; set one of them, such as --set {members[0]}=VALUE."
    from dpfair.learners import LEARNERS

    if "learner" in own:
        able = [n for n, kind in LEARNERS.items() if name in settings_of(kind())]
        if able:
            return f"The setting {name!r} is one of another learner: it needs --learner {able[0]}."
    able = [
        n
        for n, kind in methods_from_tables().items()
        if any(name in (s.name, s.short) for s in settings_of(kind()).values())
    ]
    if able:
        return f"The method {method} has no setting {name!r}: it needs --method {either(able)}."
    guess = did_you_mean(name, {s for one in known.values() for s in (one.short, one.name)})
    return (
        f"The method {method} has no setting {name!r}{guess}; dpfair methods {method} lists its "
        "settings."
    )


def _value(setting: Setting, given: Given) -> Any:
    """The value of a text, in the first of the setting's forms that it has."""
    forms = [form for name, form in _FORMS.items() if name in setting.kind]
    for _, read in forms:
        try:
            return read(given.text)
        except ValueError:
            continue
    phrases = either([phrase for phrase, _ in forms])
    raise InputError(f"Expected {given.typed} to be {phrases}, got {given.text!r}.")


def _words(**values: Any) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text.lower() not in values:
            raise ValueError
        return values[text.lower()]

    return read


def _two_numbers(text: str) -> tuple[float, float]:
    one, two = text.split(",")
    return float(one), float(two)


_FORMS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "bool": ("true or false", _words(true=True, false=False)),
    "int": ("a whole number", int),
    "float": ("a number", float),
    "tuple[float, float]": ("two numbers such as 1,5", _two_numbers),
    "None": ("none", _words(none=None)),
    "str": ("text", str),
}
"""How a value of each type is typed; other types cannot be typed."""
