"""Subscribes the test handler when a worker imports this module (`celery worker -I`)."""

from synth.tests.outbox import helpers

helpers.subscribe()
