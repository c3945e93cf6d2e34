"""Django as a WSGI application; `synth.asgi` puts it behind the streams."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synth.settings")

_django = get_wsgi_application()

from synth import faults  # noqa: E402 - settings are read only once Django is set up
from synth.api.chunked import with_length  # noqa: E402

if fault := os.environ.get(faults.VARIABLE):
    faults.check(fault)  # this server runs no system checks

application = with_length(_django)
