"""Django as a WSGI application; `synth.asgi` puts it behind the streams."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synth.settings")

application = get_wsgi_application()
