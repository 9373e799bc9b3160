"""Run some seeds of docs/results.md again and compare them with the committed runs.

    python scripts/results_compare.py 12       # the first 12 seeds of every setting

Each line has the mean change of the accuracy of a setting since its runs were committed, and the
standard error of that mean. Splits are the same, and coins and noise may be others.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).parent))
from results_doc import JOBS, SEEDS, SETTINGS, finished, key, run


def main() -> None:
    """Run the settings of the page on so many seeds, and print what has changed."""
    seeds = SEEDS[: int(sys.argv[1])]
    earlier, changes = finished(), defaultdict[str, list[float]](list)
    jobs = [(str(setting), setting, seed) for setting in SETTINGS for seed in seeds]
    again = Parallel(n_jobs=JOBS, return_as="generator")(
        delayed(run)("benchmark", setting, seed) for _, setting, seed in jobs
    )
    for (name, setting, seed), (_, result) in zip(jobs, again, strict=True):
        before = earlier[key("benchmark", setting, seed)]["accuracy"]
        changes[name].append(result["accuracy"] - before)
        if len(changes[name]) == len(seeds):
            print(f"{_text(changes[name])}  {name}", flush=True)
    whole = [change for some in changes.values() for change in some]
    print(f"{_text(whole)}  all {len(changes)} settings, {len(seeds)} seeds each")


def _text(changes: list[float]) -> str:
    """A mean with its standard error, which is 0 if nothing has changed."""
    mean, deviation = statistics.fmean(changes), statistics.stdev(changes)
    return f"{mean:+.4f} ± {deviation / math.sqrt(len(changes)):.4f}"


if __name__ == "__main__":
    main()
