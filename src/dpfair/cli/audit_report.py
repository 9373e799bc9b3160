"""What an audit found, as a table for people and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfair.audit.distinguish import Finding
    from dpfair.audit.replay import ReplayReport
    from dpfair.certificate import PrivacyClaim

__all__ = ["AuditReport"]

WIDTH = 100
MAX_VIOLATIONS = 10

MEANING = (
    "A lower bound is what the samples prove: the true epsilon is at least that large. A bound "
    "above the claim refutes it. A bound below the claim does not prove it."
)
KNOWN = (
    "rounding shows more than the ideal mechanism would, and certificates say so; models with "
    'arithmetic="exact" have no such noise.'
)


@dataclass(frozen=True)
class AuditReport:
    """The result of one audit.

    Parameters
    ----------
    heading
        What was audited.
    findings, names
        The claims that were tested, and what each is called.
    samples
        What a sample is.
    confidence
        With which all bounds hold together.
    replays
        Replays of a method, if it is one.
    privacy
        What a model claims itself, if it is one.
    """

    heading: str
    findings: Sequence[Finding]
    names: Sequence[str]
    samples: str
    confidence: float
    replays: Sequence[ReplayReport] = ()
    privacy: PrivacyClaim | None = None

    @property
    def failures(self) -> int:
        """How many of the checks failed; a replay that saw too little is no check."""
        broken = sum(not replay.passed for replay in self.replays)
        return broken + sum(finding.failed for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """All that the text says."""
        claimed = {}
        if self.privacy is not None:
            claimed = {"private": self.privacy.private, "leaks": list(self.privacy.leaks)}
        return {
            "audited": self.heading,
            **claimed,
            "passed": self.failures == 0,
            "confidence": self.confidence,
            "findings": [
                _finding_to_json(name, finding)
                for name, finding in zip(self.names, self.findings, strict=True)
            ],
            "replays": [_replay_to_json(replay) for replay in self.replays],
        }

    def to_text(self) -> str:
        """A table, and how to read it."""
        return "\n".join([*self.head(), *self.table(), *self.notes(), self.verdict])

    def head(self) -> list[str]:
        """What was audited, and what the replays found."""
        lines = [self.heading, ""]
        for replay in self.replays:
            lines += _replay_lines(replay)
        return [*lines, ""] if self.replays else lines

    def notes(self) -> list[str]:
        """How to read the table."""
        together = f"All bounds hold together with {100 * self.confidence:g} % confidence."
        notes = [f"{self.samples} {together}", MEANING]
        limits = {finding.limit for finding in self.findings if finding.exceeds and finding.limit}
        notes += [f"{limit}: {KNOWN}" for limit in sorted(limits)]
        return ["", *(fill(note, WIDTH) for note in notes), ""]

    @property
    def verdict(self) -> str:
        """The result in a word."""
        checks = len(self.findings) + len(self.replays)
        return f"FAILED: {self.failures} of {checks} checks." if self.failures else "Passed."

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Name, claimed epsilon and delta, lower bound, samples and verdict of every finding."""
        for name, finding in zip(self.names, self.findings, strict=True):
            claim = (f"{finding.epsilon:.3f}", f"{finding.delta:g}")
            shown = (f"{finding.shown.epsilon:.3f}", f"{finding.samples}")
            yield (name, *claim, *shown, finding.verdict)

    def table(self) -> Iterator[str]:
        """The findings, a line each under a heading."""
        width = max(map(len, ("mechanism", *self.names)))
        yield f"{'':<{width}}  {'claimed':^16}  lower bound"
        head = f"{'epsilon':>7}  {'delta':>7}  {'epsilon':>11}  {'samples':>7}  verdict"
        yield f"{'mechanism':<{width}}  {head}"
        for name, epsilon, delta, bound, samples, verdict in self.rows():
            numbers = f"{epsilon:>7}  {delta:>7}  {bound:>11}  {samples:>7}"
            yield f"{name:<{width}}  {numbers}  {verdict}"


def _finding_to_json(name: str, finding: Finding) -> dict[str, Any]:
    return {
        "mechanism": name,
        "claimed_epsilon": finding.epsilon,
        "delta": finding.delta,
        "lower_bound": finding.shown.epsilon,
        "verdict": finding.verdict,
        "failed": finding.failed,
        "neighbours": finding.pair,
        "samples": finding.samples,
        "event": asdict(finding.shown.event),
        "hits": list(finding.shown.hits),
        "trials": list(finding.shown.trials),
    }


def _replay_to_json(replay: ReplayReport) -> dict[str, Any]:
    return {
        "relation": replay.relation,
        "passed": replay.passed,
        "pairs": replay.pairs,
        "failed": replay.failed,
        "asked": sorted(replay.asked),
        "touched": sorted(replay.touched),
        "blind_spots": list(replay.blind_spots),
        "violations": [asdict(violation) for violation in replay.violations],
    }


def _replay_lines(replay: ReplayReport) -> Iterator[str]:
    count = len(replay.violations)
    found = f"{count} VIOLATIONS" if count else "no violation"
    saw = ", BUT THE TEST WAS INCOMPLETE" if replay.blind_spots else ""
    yield f"Replay under {replay.relation:<11}  {replay.pairs} pairs of tables: {found}{saw}"
    for sentence in replay.blind_spots:
        yield f"  {sentence}"
    for violation in replay.violations[:MAX_VIOLATIONS]:
        yield f"  {violation.neighbours}: {violation.sentence}"
    if count > MAX_VIOLATIONS:
        yield f"  and {count - MAX_VIOLATIONS} more"
