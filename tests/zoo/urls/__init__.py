"""A zoo of servers at URLs, each with one fault, by their names."""

from tests.zoo.urls import authorization, connections, old_ways, refusals, sessions, streams
from tests.zoo.urls.patients import PATIENTS, Patient

__all__ = [
    "PATIENTS",
    "Patient",
    "authorization",
    "connections",
    "old_ways",
    "refusals",
    "sessions",
    "streams",
]
