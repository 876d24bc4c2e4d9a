"""Figures of a mail service in the text format of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from accord.mail.counters import SECONDS
from accord.mail.service import MailService


def metrics_text(service: MailService) -> tuple[str, str]:
    """The figures as text, and its content type."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Figures(service))  # type: ignore[arg-type]  # a collector needs nothing but `collect`
    return generate_latest(registry).decode("utf-8"), CONTENT_TYPE_LATEST


class _Figures:
    def __init__(self, service: MailService) -> None:
        self.service = service

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        service, counters = self.service, self.service.counters
        messages = CounterMetricFamily("accord_mail_messages", "Messages by what became of them.", labels=["outcome"])
        for outcome, n in list(counters.outcomes.items()):
            messages.add_metric([outcome], n)
        yield messages
        for name, text, value in (
            ("accord_mail_spoofed_headers", "Headers with our names removed from mail.", counters.spoofed),
            ("accord_mail_malformed", "Connections and requests that were refused.", counters.malformed),
            ("accord_mail_checkpoints", "Times that the state was written.", counters.checkpoints),
            ("accord_mail_checkpoint_errors", "Times that writing the state failed.", counters.checkpoint_errors),
        ):
            yield CounterMetricFamily(name, text, value=value)
        for name, text, number in (
            ("accord_mail_window_messages", "Messages in the window.", len(service.detector)),
            ("accord_mail_batches", "Batches in the window.", service.detector.n_batches),
            ("accord_mail_waiting", "Messages in the queue.", service.waiting),
            ("accord_mail_uptime_seconds", "Time since the start.", time.time() - service.started),
            ("accord_mail_last_checkpoint_timestamp_seconds", "When the state was written.", counters.last_checkpoint),
        ):
            yield GaugeMetricFamily(name, text, value=number)
        bounds = [*map(str, SECONDS), "+Inf"]
        yield HistogramMetricFamily(
            "accord_mail_answer_seconds",
            "Time from a message's end to its answer, in the queue and in the detector.",
            buckets=list(zip(bounds, map(float, accumulate(counters.buckets)))),
            sum_value=counters.seconds,
        )
