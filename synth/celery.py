"""The Celery application: `celery -A synth.celery …`. Tasks are doors; what is due stands in rows."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synth.settings")

app = Celery("synth")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
