"""The metrics for Prometheus at /metrics: requests, latencies, batches, queue length."""

from collections.abc import Callable
from typing import final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

PATHS = (
    *("/api/tag", "/api/explain", "/api/tree", "/api/lattice", "/api/graph", "/api/models", "/api/openapi.json"),
    *("/api/training", "/api/training/files", "/api/training/start", "/api/training/stop", "/api/training/keep"),
    *("/health", "/ready", "/metrics", "/"),
)
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


@final
class Monitor:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("postil_requests", "Answers.", ["path", "status"], registry=self._registry)
        self._seconds = Histogram(
            "postil_request_seconds", "Seconds per answer.", ["path"], buckets=_SECONDS, registry=self._registry
        )
        self._batches = Histogram(
            "postil_batch_requests", "Requests per batch.", buckets=_SIZES, registry=self._registry
        )
        self._reloads = Counter("postil_reloads", "Models opened again.", ["model"], registry=self._registry)
        self._waiting = Gauge("postil_waiting_requests", "Requests that wait for an answer.", registry=self._registry)
        # Looking a labelled counter up costs more than counting.
        self._counters: dict[tuple[str, int], Counter] = {}
        self._histograms = {path: self._seconds.labels(path) for path in (*PATHS, "other")}

    def answered(self, path: str, status: int, seconds: float) -> None:
        known = path if path in self._histograms else "other"
        counter = self._counters.get((known, status))
        if counter is None:
            counter = self._counters[known, status] = self._requests.labels(known, str(status))
        counter.inc()
        self._histograms[known].observe(seconds)

    def batched(self, requests: int) -> None:
        self._batches.observe(requests)

    def reloaded(self, model: str) -> None:
        self._reloads.labels(model).inc()

    def watch_waiting(self, count: Callable[[], int]) -> None:
        self._waiting.set_function(count)

    def text(self) -> bytes:
        """In Prometheus's text format."""
        text: bytes = generate_latest(self._registry)
        return text
