"""Settings that belong together, as one parameter of a method.

Each is accepted as an object, as a plain dict or as None (the defaults). A search reaches every
setting by its name, such as ``rule__tolerance``.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

from sklearn.base import BaseEstimator, clone

from dpfair import validate
from dpfair.discovery.discover import SHARE
from dpfair.errors import InputError
from dpfair.fairness.coins import COINS
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import notion_of
from dpfair.fairness.small_groups import SMALL_GROUPS

__all__ = ["Division", "FairRule", "NestedSettings", "settings_of"]

T = TypeVar("T")


@dataclass(eq=False, repr=False)
class FairRule(BaseEstimator):  # type: ignore[misc]
    """What a decision rule should achieve.

    Parameters
    ----------
    notion
        What is fair, such as ``"demographic_parity"`` or ``"equalized_odds"``; docs/methods.md
        lists all notions.
    tolerance
        The largest gap that is allowed. For ``"parity_ratio"`` a tolerance of 0.2 is the
        four-fifths rule.
    target
        The share of records to accept.
    capacity
        The share of records that may be accepted at most.
    costs
        The cost of a wrong acceptance and of a wrong rejection.
    smallest_group
        Groups with fewer counted records than this are small, and so are groups that the noise
        hides.
    small_groups
        Small groups share one threshold (``"merge"``) or stop the fit (``"refuse"``).
    coins
        ``"keyed"``: the same record always gets the same decision, and records that look
        alike (or belong to the same unit) share one. ``"fresh"``: a new coin at every call.
        The certificate is about the average over the coins.

    Examples
    --------
    >>> FairRule(notion="equalized_odds", tolerance=0.05).goal().tolerance
    0.05
    """

    notion: str = "demographic_parity"
    tolerance: float = 0.0
    _: KW_ONLY
    target: float | None = None
    capacity: float | None = None
    costs: tuple[float, float] = (1.0, 1.0)
    smallest_group: float = 50
    small_groups: str = "merge"
    coins: str = "keyed"

    def check(self) -> None:
        """Raise ``InputError`` for settings that no rule can have."""
        validate.one_of(SMALL_GROUPS, small_groups=self.small_groups)
        validate.one_of(COINS, coins=self.coins)
        if not 0 <= self.smallest_group < math.inf:
            raise InputError(f"Expected smallest_group >= 0, got {self.smallest_group}.")
        self.goal()

    def goal(self, notion: str | None = None, tolerance: float | None = None) -> Goal:
        """The goal of the optimisation, with another notion or tolerance if given."""
        if isinstance(self.target, str):
            raise InputError(f"Expected target to be a number, got {self.target!r}.")
        return Goal(
            notion=notion_of(self.notion if notion is None else notion),
            tolerance=self.tolerance if tolerance is None else tolerance,
            costs=self.costs,
            acceptance=self.target,
            capacity=self.capacity,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class Division(BaseEstimator):  # type: ignore[misc]
    """How a fit divides its records and its budget; see :mod:`dpfair.methods.division`.

    Parameters
    ----------
    release_epsilon
        The cost of the table that scores are counted in. None: as the mode needs it.
    release_share
        The probability that a record is counted instead of trained on (certified mode).
    check_share
        The probability that a record only checks the finished rule (reuse mode).
    values_epsilon
        Also count, at this cost, how many records have a feature value that is missing, out of
        bounds or undeclared; the certificate then states their share.
    discovery_share
        The part of the training budget that finds facts which the schema does not declare: bin
        edges and usual values, and bounds and categories where they are missing. 0: none.
    """

    release_epsilon: float | None = None
    release_share: float | None = None
    check_share: float = 0.0
    values_epsilon: float | None = None
    discovery_share: float = SHARE

    def check(self) -> None:
        """Raise ``InputError`` for settings that no division can have."""
        for name in ("release_epsilon", "values_epsilon"):
            if getattr(self, name) is not None:
                validate.positive(**{name: getattr(self, name)})
        if not 0 <= self.discovery_share < 1:
            raise InputError(f"Expected discovery_share in [0, 1), got {self.discovery_share}.")


def settings_of(kind: type[T], given: Any, name: str) -> T:
    """The settings object for an object, a dict or None."""
    if given is None:
        return kind()
    if isinstance(given, kind):
        return given
    if not isinstance(given, dict):
        raise InputError(f"Expected {name} to be a {kind.__name__} or a dict.")
    known = kind()._get_param_names()  # type: ignore[attr-defined]
    unknown = [key for key in given if key not in known]
    if unknown:
        guess = validate.did_you_mean(unknown[0], known)
        raise InputError(f"{name} has no setting {unknown[0]!r}{guess}; it has {', '.join(known)}.")
    return kind(**given)


class NestedSettings:
    """Mixin: parameters that are settings can be reached by name, whatever form they have."""

    def nested(self) -> dict[str, Any]:
        """The settings objects by the name of their parameter."""
        return {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with ``deep`` the settings of each, too."""
        params: dict[str, Any] = super().get_params(deep)  # type: ignore[misc]
        if deep:
            for name, settings in self._reachable().items():
                own = settings.get_params() if hasattr(settings, "get_params") else {}
                params |= {f"{name}__{key}": value for key, value in own.items()}
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters, or single settings of them such as ``rule__tolerance``."""
        inner = {key: value for key, value in params.items() if "__" in key}
        super().set_params(**{k: v for k, v in params.items() if k not in inner})  # type: ignore[misc]
        for name, settings in self._reachable().items():
            if any(key.startswith(f"{name}__") for key in inner):
                # A copy: another model may have the same object.
                setattr(self, name, clone(settings, safe=False))
        return super().set_params(**inner)  # type: ignore[misc]

    def _reachable(self) -> dict[str, Any]:
        """The settings objects; none while a parameter is impossible, which fit will say."""
        try:
            return self.nested()
        except InputError:
            return {}

    def settings(self) -> dict[str, Any]:
        """The parameters, with settings as objects."""
        return self.get_params(deep=False) | self.nested()
