"""Joblib's calls on a Dask cluster, where a call may be lost with its worker."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib._dask import DaskDistributedBackend

__all__ = ["DaskBackend"]

# joblib 1.6 has given the method its other name.
_SUBMIT = vars(DaskDistributedBackend).get("submit", DaskDistributedBackend.apply_async)


class DaskBackend(DaskDistributedBackend):  # type: ignore[misc]
    """The backend of joblib, with errors of Dask.

    What a call raises is part of its result. If there is no result, because a worker ended or could
    not read the call, joblib's own backend never says so, and the caller waits forever.
    """

    def effective_n_jobs(self, n_jobs: int) -> int:
        """The threads of the cluster, but not one: joblib would then make the calls itself."""
        threads: int = super().effective_n_jobs(n_jobs)
        return max(2, threads)

    def apply_async(self, func: Any, callback: Callable[[Any], None]) -> Future[Any]:
        """Send some calls; ``callback`` gets their results or the error of Dask."""

        def tell(done: Future[Any]) -> None:
            if (error := done.exception()) is not None:
                callback(error)

        sent: Future[Any] = _SUBMIT(self, func, callback)
        sent.add_done_callback(tell)
        return sent

    submit = apply_async

    def retrieve_result_callback(self, out: Any) -> Any:
        """The results that a callback got."""
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)
