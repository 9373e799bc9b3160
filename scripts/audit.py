"""Run the privacy and fairness audits at full size; the exit code is 1 if a section fails.

    python scripts/audit.py                 # all sections, about fifty minutes
    python scripts/audit.py replay mutants  # selected sections

The tests run a fast part of each section. docs/trust.md explains the results.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from trust import crash, race, tamper  # noqa: E402
from trust.crash_fits import fitting  # noqa: E402
from trust.detectors import detect  # noqa: E402
from trust.mutants import MUTANTS  # noqa: E402

from dpfair import LedgerFile, Schema  # noqa: E402
from dpfair.audit.catalogue import CATALOGUE  # noqa: E402
from dpfair.audit.distinguish import Listening, distinguish_all  # noqa: E402
from dpfair.audit.mechanisms import library_mechanisms  # noqa: E402
from dpfair.audit.replay import Method, ReplayReport, replay_method  # noqa: E402
from dpfair.audit.sample import sample_schema  # noqa: E402

SAMPLES = 100_000
POWER = 0.9  # the part of the claim that the bound of a pure mechanism must reach
NEIGHBOURS, MOST_SEEDS = 60, 4
ALARM_SEEDS = 20
KILLS = 1000
SPELLING_RACES = 50
TABLES = 10_000
FILES = 20_000
TIED_TABLES = 200
EVALUATIONS = 400
PERSONS = 2000
RELEASES, EXACT_RELEASES = 40, 400  # noise makes a bound ten times slower


def mechanisms() -> bool:
    """Lower bounds on epsilon by sampling; all hold together with 99.9 % confidence."""
    print(f"{'mechanism':50} {'delta':>8} {'claimed':>8} {'at least':>9}  verdict")
    findings = distinguish_all(library_mechanisms(), SAMPLES, Listening(0), 0.999)
    weak = []
    for f in findings:
        print(f"{f.name:50} {f.delta:8g} {f.epsilon:8.4f} {f.shown.epsilon:9.4f}  {f.verdict}")
        if f.delta == 0 and f.shown.epsilon < POWER * f.epsilon:
            weak.append(f.name)
    print(f"{len(findings)} mechanisms, {SAMPLES:,} samples on either side; too weak: {weak or 0}")
    return not weak and not any(f.failed for f in findings)


def replay() -> bool:
    """Every method on neighbouring and unrelated tables, with the same noisy answers."""
    schema, passed, pairs = sample_schema(), True, 0
    for method in CATALOGUE:
        for relation in ("add_remove", "replace_one"):
            reports = list(_replayed(method, schema, relation))
            violations = [violation for report in reports for violation in report.violations]
            pairs += sum(report.pairs for report in reports)
            passed &= not violations and reports[-1].passed
            print(
                f"{method.name:26} {relation:12} {sum(report.pairs for report in reports):4} pairs "
                f"{len(violations):3} violations {sum(r.seconds for r in reports):6.1f} s"
            )
            for sentence in reports[-1].blind_spots:
                print(f"    {sentence}")
            for violation in violations[:3]:
                print(f"    {violation.neighbours}: {violation.sentence}")
    print(f"{len(CATALOGUE)} methods, {pairs} pairs of tables")
    return passed


def _replayed(method: Method, schema: Schema, relation: str) -> Iterator[ReplayReport]:
    """With other coins and neighbours, until a neighbour has changed a value of every scope."""
    for seed in range(MOST_SEEDS):
        report = replay_method(method, schema, relation, at_least=NEIGHBOURS, seed=seed)
        yield report
        if not report.blind_spots:
            return


def mutants() -> bool:
    """Mutants, which are broken on purpose: each must be caught."""
    survivors = 0
    print(f"{'mutant':54} {'caught by':48} {'s':>6}")
    for mutant in MUTANTS:
        began = time.perf_counter()
        with mutant.broken():
            caught = [name for name in mutant.caught_by if detect(name, seed=0)]
        survivors += len(caught) < len(mutant.caught_by)
        detectors = ", ".join(caught) if caught else "NOTHING"
        print(f"{mutant.name:54} {detectors:48} {time.perf_counter() - began:6.1f}")
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} caught")
    return survivors == 0


def alarms() -> bool:
    """The detectors of the mutants on the correct code: none may raise an alarm."""
    names = sorted({name for mutant in MUTANTS for name in mutant.caught_by})
    false = 0
    for name in names:
        began = time.perf_counter()
        found = {seed: detect(name, seed) for seed in range(1, ALARM_SEEDS + 1)}
        alarmed = {seed: sentences for seed, sentences in found.items() if sentences}
        false += len(alarmed)
        print(f"{name:52} {len(alarmed)} of {ALARM_SEEDS} {time.perf_counter() - began:7.1f} s")
        for seed, sentences in alarmed.items():
            print(f"    seed {seed}: {sentences[0]}")
    print(f"{false} false alarms of {len(names)} detectors on {ALARM_SEEDS} seeds each")
    return false == 0


def ledger() -> bool:
    """Ledger files under crashes, races and damage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "warm.ledger"
        LedgerFile.create(path, crash.BUDGET, 1e-5)
        warm = fitting(path)
        for number in range(2):
            warm(str(number), lambda: None)
        damage = crash.kill_at_random(folder, KILLS, fitting, longest=0.15)
        print(f"kill -9 of fits: {damage}")
        LedgerFile.create(folder / "race.ledger", 2, 1e-5)
        race_of = race.race_processes(folder / "race.ledger")
        print(f"16 processes x 1000 charges of 1/500 against 2: {race_of}")
        spelt = []
        for number in range(SPELLING_RACES):
            LedgerFile.create(folder / f"spelt{number}.ledger", 2, 1e-5)
            spelt.append(race.race_spellings(folder / f"spelt{number}.ledger")[0])
        print(f"16 spellings of one scope race for its budget: at most {max(spelt)} granted")
        forged = folder / "forged.ledger"
        tamper.varied_ledger(forged)
        missed = tamper.undetected(forged)
        size = forged.stat().st_size
        print(f"{size} bytes flipped one after the other: {len(missed)} not detected {missed[:5]}")
    fair = (race_of.granted, race_of.charged, race_of.errors) == (1000, 1000, ())
    fair &= set(spelt) == {1}
    return not damage.unpaid and damage.kills >= KILLS and fair and not missed


def tables() -> bool:
    """Random tables of every kind."""
    from trust.fuzz_tables import fuzz

    outcome = fuzz(TABLES, number=1)
    print(f"{sum(outcome.values())} cases: {dict(outcome)}")
    return True  # a failure raises an error


def lines() -> bool:
    """Random bytes as CSV files, with a neighbour of each: one line is one record."""
    from trust.fuzz_lines import fuzz_lines

    outcome = fuzz_lines(FILES, number=1)
    print(f"{outcome.total()} files and as many neighbours: {dict(outcome)}")
    return True  # a failure raises an error


def coverage() -> bool:
    """Bounds of fits and evaluations, compared with known populations."""
    from trust.coverage import KINDS, POPULATIONS, STRUCTURES, evaluation_held, fit_held

    failed = 0
    print(f"{EVALUATIONS} private evaluations of {PERSONS} persons at epsilon 20")
    for structure in STRUCTURES:
        held = evaluation_held(structure, persons=PERSONS, epsilon=20, trials=EVALUATIONS)
        failed += len(held.failures())
        print(f"    {structure:32} {held}", flush=True)
    print(f"share of true statements, {RELEASES} releases with noise and {EXACT_RELEASES} without:")
    for kind in KINDS:
        for name, population in POPULATIONS.items():
            for noise, trials in ((population.noise, RELEASES), (math.inf, EXACT_RELEASES)):
                held = fit_held(kind, replace(population, noise=noise), trials, seed=1)
                failed += len(held.failures())
                print(f"    {kind + ', ' + name:32} {noise:4g} {held}", flush=True)
    print(f"{failed} kinds of statements fail more often than a confidence of 95 % allows")
    return failed == 0


def certificates() -> bool:
    """Certificates of tables that nobody prepared, compared with the truth."""
    from trust.strange_tables import (
        are_alike,
        few_distinct_records,
        rare_labels,
        tiny_groups,
        wrong_labels,
    )

    passed = True
    for settings in ({}, {"target": 0.02}):
        bounds = [rare_labels(seed, **settings).gap_bound or 0.0 for seed in range(10)]
        passed &= are_alike(bounds, with_target="target" in settings)
        print(f"rare labels, {settings}: gaps of ten fits {min(bounds):.4f} to {max(bounds):.4f}")
    for settings in ({}, {"mode": "reuse"}, {"n": 1000, "shift": 0.8}, {"n": 20_000, "shift": 0.8}):
        found = [tiny_groups(seed, **settings) for seed in range(20)]
        worse = sum(f.worse_than_nothing for f in found)
        better = sum(f.accuracy > f.constant for f in found)
        passed &= not worse
        print(f"eight groups, {settings}: {worse} of 20 worse than a constant, {better} better")
    off = [few_distinct_records(seed).off_by for seed in range(TIED_TABLES)]
    passed &= max(off) < 3
    print(f"{TIED_TABLES} tables with tied scores: rates off by {max(off):.2f} sd of noise at most")
    for settings in ({}, {"mode": "reuse"}):
        model, accuracy = wrong_labels(0, **settings)
        claim = model.certificate_.fairness
        (share, (_, end)), estimate = claim.undeclared["label"], claim.accuracy_estimate or 0.0
        passed &= share > 0.95 and end > 1 - 1e-9 and estimate < 0.02
        passed &= str(model.certificate_).startswith("OF NO USE")
        print(
            f"wrong labels, {settings}: share {share:.4f}, at most {end:.4f}, accuracy estimated "
            f"{estimate:.4f}, true {accuracy:.4f}"
        )
    return passed


def models() -> bool:
    """Hostile model files."""
    from trust.hostile import ATTACKS, MAX_SECONDS, PLACES, honest_files, measured, written

    with tempfile.TemporaryDirectory() as name:
        folder, honest = Path(name), honest_files()
        files = written(ATTACKS, honest, folder)
        files |= {place: make(folder) for place, make in PLACES.items()}
        found = measured(files, honest, folder)
    accepted = [name for name, f in found.items() if f["error"] != "ModelFileError"]
    slowest = max(found.values(), key=lambda f: f["seconds"])
    largest = max(found.values(), key=lambda f: f["megabytes"])
    print(
        f"{len(found)} files, {len(accepted)} not refused {accepted[:3]}, the slowest in "
        f"{slowest['seconds']:.2f} s, the largest took {largest['megabytes']:.0f} MB"
    )
    return not accepted and slowest["seconds"] < MAX_SECONDS


SECTIONS: dict[str, Callable[[], bool]] = {
    "mechanisms": mechanisms,
    "replay": replay,
    "mutants": mutants,
    "alarms": alarms,
    "ledger": ledger,
    "tables": tables,
    "lines": lines,
    "coverage": coverage,
    "certificates": certificates,
    "models": models,
}


def main() -> int:
    warnings.simplefilter("ignore")
    unknown = set(sys.argv[1:]) - set(SECTIONS)
    if unknown:
        print(f"Expected some of {', '.join(SECTIONS)}, got {', '.join(unknown)}.", file=sys.stderr)
        return 2
    outcome = {}
    for name in sys.argv[1:] or SECTIONS:
        began, used = time.perf_counter(), time.process_time()
        print(f"\n== {name}: {SECTIONS[name].__doc__}", flush=True)
        outcome[name] = SECTIONS[name]()
        took, used = time.perf_counter() - began, time.process_time() - used
        verdict = "passed" if outcome[name] else "FAILED"
        print(f"{verdict} in {took:.0f} s ({used:.0f} s of one core)")
        sys.stdout.flush()
    print(f"\n{'Everything passed.' if all(outcome.values()) else 'SOMETHING FAILED.'}")
    return 0 if all(outcome.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
