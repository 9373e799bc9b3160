"""One run of one contender on one split of one table: what identifies it, and what it measures."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpfair.fairness.metrics import accuracy, parity_gap
from scripts.panel.contenders import Contender
from scripts.panel.digest import library_digest, panel_digest
from scripts.panel.prepare import PanelTable, Prepared, load_table
from scripts.panel.splits import split_clusters

__all__ = ["PanelRun", "execute", "measure"]


@dataclass(frozen=True)
class PanelRun:
    """Everything that a result depends on."""

    table: PanelTable
    contender: Contender
    seed: int

    @property
    def source(self) -> str:
        """The digest of the source; contenders without privacy do not depend on the library."""
        return f"{panel_digest()}-{library_digest()}" if self.contender.private else panel_digest()

    @property
    def key(self) -> str:
        """A name of the run, for a file of finished runs."""
        contender = asdict(self.contender)
        return json.dumps([repr(self.table), contender, self.seed, self.source], sort_keys=True)


def execute(run: PanelRun) -> dict[str, Any]:
    """Load the table, fit on one part, measure on the other."""
    return measure(run, _load(run.table))


def measure(run: PanelRun, data: Prepared) -> dict[str, Any]:
    """The result of a run on its table; an error of the contender is a result, too."""
    rest, test = split_clusters(data.clusters, run.seed)
    labels, groups = data.accepted, data.group_codes
    start = time.perf_counter()
    found: dict[str, Any] = {
        "table": run.table.name,
        "contender": asdict(run.contender),
        "seed": run.seed,
        "source": run.source,
        "rows": len(labels),
        "label_share": float(labels.mean()),
        "smaller_group": int(np.bincount(groups, minlength=2).min()),
        "columns": data.X.width - 1,
    }
    try:
        decided = run.contender.decide(data, rest, test, run.seed)
    except Exception as error:
        return {**found, "error": f"{type(error).__name__}: {error}"}
    return {
        **found,
        "accuracy": accuracy(decided.accepted, labels[test]),
        "gap": parity_gap(decided.accepted, groups[test], 2),
        "acceptance": float(decided.accepted.mean()),
        "gap_bound": decided.gap_bound,
        "seconds": time.perf_counter() - start,
    }


@lru_cache(maxsize=2)
def _load(table: PanelTable) -> Prepared:
    return load_table(table)
