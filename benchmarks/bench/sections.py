"""The table of all sections and contenders; ``--sections`` names its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["SECTIONS", "Contender", "Section", "Sizes"]


@dataclass(frozen=True)
class Sizes:
    """How many rows the tables have: of one size, and at most where cost is plotted over rows."""

    rows: int = 10**6
    largest: int = 10**7

    def growing(self) -> tuple[int, ...]:
        """Powers of ten."""
        powers = (10**power for power in range(4, 9))
        return tuple(rows for rows in powers if rows <= max(self.largest, 10**4))

    def one(self) -> tuple[int, ...]:
        """The usual size."""
        return (self.rows,)

    def most(self) -> tuple[int, ...]:
        """The largest size alone."""
        return (self.largest,)

    def moderate(self) -> tuple[int, ...]:
        """For what takes long at the usual size."""
        return (min(self.rows, 50_000),)

    def streamed(self) -> tuple[int, ...]:
        """Ten times as many as where cost is plotted: such a table does not fit into memory."""
        return (10 * self.largest,)

    def adult(self) -> tuple[int, ...]:
        """The size of Adult, for what does not depend on ``--rows``."""
        return (45_222,)


@dataclass(frozen=True)
class Contender:
    """What the page calls it, and ``module:function`` in :mod:`.contenders`.

    A ``part`` does only a part of our work: it shows what is left to gain, and wins nothing.
    """

    title: str
    source: str
    part: bool = False


@dataclass(frozen=True)
class Section:
    """Contenders that take turns; the ratios are to the first one.

    ``about`` says what is measured. Times are per ``unit`` of work, or of the whole call without
    one. ``shown`` names the columns of the table (:data:`benchmarks.bench.cells.COLUMNS`).
    """

    name: str
    title: str
    about: str
    contenders: tuple[Contender, ...]
    sizes: Callable[[Sizes], tuple[int, ...]] = Sizes.adult
    shown: tuple[str, ...] = ("cpu", "ratio")
    unit: str = ""
    one_thread: bool = True


SECTIONS = (
    Section(
        "fit",
        "Fit a data frame in memory",
        "The fit of a table in memory, from the raw columns to the fitted model. Encoding is "
        "included, as a user would write it. dpfair gets a polars frame with labels as words; "
        "scikit-learn gets a pandas frame, which it reads faster, with labels 0 and 1. What "
        "scikit-learn fits is neither private nor fair.",
        (
            Contender("dpfair, PrivateFairClassifier", "dpfair_fit:fair"),
            Contender("dpfair, PrivateLogisticRegression", "dpfair_fit:logistic"),
            Contender("scikit-learn, LogisticRegression", "sklearn_fit:logistic"),
            Contender("scikit-learn, SGDClassifier", "sklearn_fit:sgd"),
            Contender("scikit-learn, HistGradientBoosting", "sklearn_fit:boosting"),
        ),
        Sizes.growing,
        ("cpu", "ratio", "peak", "peak ratio"),
    ),
    Section(
        "fit-files",
        "Fit a table that need not fit into memory",
        "The same fit from a Parquet file that is read once, 128 MB of rows at a time; codes of "
        "the records are kept in temporary files. Reading the file is included.",
        (
            Contender("dpfair, from files", "dpfair_fit:files"),
            Contender("dpfair, from a data frame", "dpfair_fit:fair"),
        ),
        Sizes.growing,
        ("cpu", "ratio", "peak", "peak ratio"),
    ),
    Section(
        "fit-streamed",
        "Fit more rows than memory holds",
        "The same fit from Parquet files of 10,000,000 rows each. All cores.",
        (Contender("dpfair, from files", "dpfair_fit:files"),),
        Sizes.streamed,
        ("wall", "cpu", "peak"),
        one_thread=False,
    ),
    Section(
        "fit-dask",
        "Fit on a Dask cluster",
        "The same fit from eight Parquet files by workers on this computer. A worker has one "
        "thread, and so has the process that asks them. Reading the files is included; starting "
        "the cluster is not.",
        (
            Contender("dpfair, one worker", "dask_fit:one_worker"),
            Contender("dpfair, two workers", "dask_fit:two_workers"),
            Contender("dpfair, from files without a cluster", "dpfair_fit:files"),
        ),
        Sizes.most,
        ("wall", "wall ratio"),
    ),
    Section(
        "fair-fit",
        "Fit a fair model",
        "The same for a reduction, which fits its inner model many times. It is not private.",
        (
            Contender("dpfair, PrivateFairClassifier", "dpfair_fit:fair"),
            Contender("fairlearn, ExponentiatedGradient", "exponentiated_gradient:fit"),
        ),
        Sizes.moderate,
        ("cpu", "ratio", "peak", "peak ratio"),
    ),
    Section(
        "private-fit",
        "Fit a private logistic regression",
        "dpfair encodes the columns within the measured call; diffprivlib gets encoded ones, if it "
        "can be imported.",
        (
            Contender("dpfair, PrivateLogisticRegression", "dpfair_fit:logistic"),
            Contender("diffprivlib, LogisticRegression", "diffprivlib_fit:logistic"),
        ),
        Sizes.moderate,
        ("cpu", "ratio", "peak", "peak ratio"),
    ),
    Section(
        "predict",
        "Decide about a data frame in memory",
        "Decisions by models that were fitted to Adult beforehand, the encoding included.",
        (
            Contender("dpfair, PrivateFairClassifier", "predict:dpfair"),
            Contender("fairlearn, ThresholdOptimizer", "predict:threshold_optimizer"),
            Contender("scikit-learn, LogisticRegression", "predict:sklearn"),
        ),
        Sizes.one,
        ("cpu", "ratio", "peak", "peak ratio"),
    ),
    Section(
        "fair-predict",
        "Decide by a reduction",
        "The same for fairlearn's reduction, whose model is a lottery over its inner models.",
        (
            Contender("dpfair, PrivateFairClassifier", "predict:dpfair"),
            Contender("fairlearn, ExponentiatedGradient", "exponentiated_gradient:predict"),
        ),
        Sizes.moderate,
        ("cpu", "ratio", "peak", "peak ratio"),
    ),
    Section(
        "predict-files",
        "Decide about a file on the command line",
        "`dpfair predict` from a file to a file of the same kind, beside polars, which only reads "
        "the file. All cores; the peak of a command is all of its process.",
        (
            Contender("dpfair predict, Parquet", "command_line:predict_parquet"),
            Contender("dpfair predict, CSV", "command_line:predict_csv"),
            Contender("polars.read_parquet alone", "polars_read:read_parquet", part=True),
            Contender("polars.read_csv alone", "polars_read:read_csv", part=True),
        ),
        Sizes.one,
        ("wall", "rate", "cpu", "ratio", "peak"),
        one_thread=False,
    ),
    Section(
        "fit-csv",
        "Fit a CSV file on the command line",
        "`dpfair fit`, with everything from the start of Python to the model file, beside what it "
        "cannot do without: polars reading the file, and the default learner training on records "
        "that were encoded beforehand. All cores.",
        (
            Contender("dpfair fit", "command_line:fit_csv"),
            Contender("polars.read_csv and training", "polars_read:read_csv_and_train", part=True),
            Contender("polars.read_csv alone", "polars_read:read_csv", part=True),
        ),
        Sizes.one,
        ("wall", "cpu", "ratio", "peak"),
        one_thread=False,
    ),
    Section(
        "dp-sgd",
        "One step of DP-SGD",
        "Half of Adult with the paper's features, Poisson batches of 1024 expected rows, logistic "
        "loss, clipping at 1.5. Rows are compact, as dpfair holds them: eight numbers, and a byte "
        "for one to four one-hot columns. dpfair runs its real path: a paid receipt for every "
        "step, sampling and noise from the secure source. The parts do their work for the rows of "
        "batches that were sampled beforehand: the loop is dpfair's sum of clipped gradients, bare "
        "loops look up weights and the logistic function and add to the sums, and the bound reads "
        "one number of every cache line.",
        (
            Contender("dpfair, with numba", "descent_steps:compiled"),
            Contender("dpfair, without numba", "descent_steps:plain"),
            Contender("dpfair, its loop alone", "descent_steps:loop", part=True),
            Contender("bare loops: look-ups and sums", "bounds:look_ups", part=True),
            Contender("bound: memory of the rows", "bounds:compact_memory", part=True),
            Contender("Opacus, no loader, compact rows", "opacus_steps:compact"),
        ),
        unit="step",
    ),
    Section(
        "dp-sgd-dense",
        "One step of DP-SGD on dense rows",
        "The same with every row as a vector of 104 numbers, as a schema of numeric columns makes "
        "them. The second bound samples batches, reads one number of every cache line of their "
        "rows and looks up the logistic function; our batches and loop do this and the rest of "
        "the arithmetic. Opacus gets the same vectors as tensors. The paper's loop was written "
        "again by us: one backward pass per record.",
        (
            Contender("dpfair, with numba", "descent_steps:dense_compiled"),
            Contender("dpfair, without numba", "descent_steps:dense_plain"),
            Contender("dpfair, its loop alone", "descent_steps:dense_loop", part=True),
            Contender(
                "dpfair, its batches and loop", "descent_steps:dense_batches_and_loop", part=True
            ),
            Contender("bare loops: products and sums", "bounds:dense_look_ups", part=True),
            Contender("bound: memory of the rows", "bounds:dense_memory", part=True),
            Contender(
                "bound: batches, memory of the rows, logistic function",
                "bounds:dense_batches_and_memory",
                part=True,
            ),
            Contender("Opacus, with its loader", "opacus_steps:standard"),
            Contender("Opacus, no loader", "opacus_steps:no_loader"),
            Contender("Opacus, no loader, bias as a column", "opacus_steps:folded"),
            Contender("Opacus, the same by expanded weights", "opacus_steps:folded_expanded"),
            Contender("Opacus, hooks on prepared batches", "opacus_steps:prepared"),
            Contender("the paper's loop over records", "paper_loop:loop"),
        ),
        unit="step",
    ),
    Section(
        "full-batch",
        "One step over all rows",
        "The gradient sum of a step of the default learner, in exact arithmetic, with binned "
        "features. The bound is three bare loops, which look up weights and the logistic function "
        "and add to the sums.",
        (
            Contender("dpfair, with numba", "full_batch:compiled"),
            Contender("dpfair, without numba", "full_batch:plain"),
            Contender("bound: look-ups and sums alone", "bounds:full_batch", part=True),
        ),
        Sizes.one,
        unit="row",
    ),
    Section(
        "calibration",
        "Find the noise for a budget",
        "The noise of 1150 steps with batches of 1024 of 22,611 records, at epsilon 0.3, 1, 3 and "
        "9, by searches with their default tolerances; times are means over the four. The Renyi "
        "accountant is less tight, and its answer has more noise. The last row plans a default "
        "fair fit, which has other steps.",
        (
            Contender("dpfair.calibrate (PLD)", "calibration:dpfair"),
            Contender("dp-accounting (PLD)", "calibration:dp_accounting"),
            Contender("Opacus (PRV)", "calibration:opacus_prv"),
            Contender("Opacus (Renyi)", "calibration:opacus_rdp"),
            Contender("dpfair, plan of PrivateFairClassifier", "calibration:default_plan"),
        ),
        unit="budget",
    ),
    Section(
        "start-up",
        "Start",
        "Whole processes, in which starting takes most of the time; ratios are to a Python program "
        "that does nothing.",
        (
            Contender("python -c pass", "start_up:python"),
            Contender("dpfair --help", "start_up:dpfair_help"),
            Contender("dpfair ledger show", "start_up:ledger_show"),
            Contender("the same, first after a charge", "start_up:ledger_show_first"),
            Contender("dpfair predict, one row", "start_up:predict_one"),
            Contender("import sklearn.linear_model", "start_up:import_sklearn"),
            Contender("import fairlearn.postprocessing", "start_up:import_fairlearn"),
            Contender("import opacus", "start_up:import_opacus"),
        ),
        shown=("cpu", "ratio", "peak"),
    ),
    Section(
        "limits",
        "What the machine can do",
        "One thread: the sum of an array of 400 MB, sums of numbers looked up at random places of "
        "a table of 32 kB and of one of 400 MB, and OpenSSL's random bytes.",
        (
            Contender("read memory, GB", "limits:memory"),
            Contender("look-ups in a cache, billions", "limits:cached_look_ups"),
            Contender("look-ups in memory, billions", "limits:far_look_ups"),
            Contender("random bytes, GB", "limits:random_bytes"),
        ),
        shown=("cpu rate",),
    ),
)
