"""Django settings, all in this file; values come from the option table and the environment.

An unset DATABASE_URL / REDIS_URL means the embedded stores: `manage.py` finds or starts them before this
module is read and puts their addresses into the environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static

from synth import logs
from synth.net.broker import broker_url
from synth.options import OPTIONS, BadOption

BASE_DIR = Path(__file__).resolve().parent.parent


def _read(name: str) -> Any:
    """The typed value of an option of the core; ImproperlyConfigured says what is allowed."""
    try:
        return OPTIONS[name].read(os.environ)
    except BadOption as error:
        raise ImproperlyConfigured(str(error)) from None


def _secret(name: str) -> str:
    """A secret from the environment, else the generated file of the embedded stack."""
    if value := _read(name):
        return str(value)
    path = SYNTH_HOME / "keys" / name
    if IS_EMBEDDED and path.is_file():
        return path.read_text().strip()
    raise ImproperlyConfigured(
        f"{name} is required with DATABASE_URL; the embedded stack makes one in {path}"
    )


SYNTH_HOME = Path(os.environ.get("SYNTH_HOME") or BASE_DIR / "var").resolve()
IS_EMBEDDED = os.environ.get("SYNTH_EMBEDDED") == "1"
SECRET_KEY = _secret("SECRET_KEY")
FIELD_KEY = _secret("FIELD_KEY")
GIFT_CODE_KEY = _secret("GIFT_CODE_KEY")
DEBUG: bool = _read("DEBUG")
ALLOWED_HOSTS: list[str] = _read("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS: list[str] = _read("CSRF_TRUSTED_ORIGINS")
BIND: str = _read("BIND")
PORT: int = _read("PORT")

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "django_htmx",  # for its static files: htmx itself
    "django_structlog",
    "django_prometheus",
    "synth",
    "judgments",
    "reminders",
    "gifts",
    "growth",
    "decider",
]
MIDDLEWARE = [
    "synth.health.Probes",
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "synth.csp.ContentSecurityPolicy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "axes.middleware.AxesMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]
ROOT_URLCONF = "synth.urls"
WSGI_APPLICATION = "synth.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Stores. No thread keeps a connection: it goes back after each request and before each wait.
DATABASE_URL = _read("DATABASE_URL")
REDIS_URL = _read("REDIS_URL")
if not DATABASE_URL or not REDIS_URL:
    raise ImproperlyConfigured("DATABASE_URL and REDIS_URL are unset; start Synth through manage.py")
DATABASES: dict[str, Any] = {"default": dj_database_url.parse(DATABASE_URL, conn_max_age=0)}
if DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql":
    raise ImproperlyConfigured("DATABASE_URL must name a PostgreSQL server")
DATABASES["default"] |= {
    "ENGINE": "synth.net.postgresql",
    "KEPT_CONNECTIONS": _read("DB_KEPT_CONNECTIONS"),
    "ATOMIC_REQUESTS": False,
}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Celery. Due times live in PostgreSQL; a message is only a doorbell (docs/background.md).
CELERY_BROKER_URL = broker_url(REDIS_URL)
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_TASK_ROUTES = {"growth.run_*": {"queue": "llm"}, "synth.tasks.run_sittings": {"queue": "llm"}}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 20
CELERY_BEAT_SCHEDULER = "synth.beat:LeaderScheduler"
CELERY_BEAT_SYNC_EVERY = 1
CELERY_BEAT_MAX_LOOP_INTERVAL = 5
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 1800,
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    "queue_order_strategy": "priority",
    "socket_connect_timeout": 5,
}
CELERY_TIMEZONE = "UTC"
DJANGO_CELERY_BEAT_TZ_AWARE = True

# People.
AUTH_USER_MODEL = "synth.Person"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL, LOGIN_REDIRECT_URL = "/admin/login/", "/admin/"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 1  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "synth.net.client_address.of"

# Browsers.
BEHIND_TLS: bool = _read("BEHIND_TLS")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = BEHIND_TLS
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = BEHIND_TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = _read("MAX_BODY_KIB") * 1024

# Words, times, files.
LANGUAGE_CODE = "en"
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = "synth.formats"
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

WEB_THREADS: int = _read("WEB_THREADS")

# REST.
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "synth.api.auth.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["synth.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "synth.api.pagination.KeysetPagination",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["synth.api.throttles.PerKey", "synth.api.throttles.PerAddress"],
    "EXCEPTION_HANDLER": "synth.api.errors.handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Synth",
    "DESCRIPTION": "Agents with an inner life people can see and steer.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": r"/(?:api|v1)",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "DiarySourceEnum": "synth.models.DiarySource",
        "MessageStatusEnum": "synth.models.MessageStatus",
        "ModeEnum": [("off", "off"), ("on", "on"), ("request", "request")],
        "JudgmentModeEnum": "judgments.models.Mode",
        "StateSourceEnum": "growth.models.StateSource",
        "RunStatusEnum": "growth.models.RunStatus",
        "DeliveryKindEnum": "reminders.models.DeliveryKind",
        "DeliveryStatusEnum": "reminders.models.DeliveryStatus",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "synth.api.openapi.document_answers",
        "judgments.api.openapi.add_wire",
    ],
}
RATE_PER_KEY: int = _read("RATE_PER_KEY")
RATE_PER_ADDRESS: int = _read("RATE_PER_ADDRESS")

# Language models.
LLM_BASE_URL = _read("LLM_BASE_URL")
LLM_API_KEY = _read("LLM_API_KEY")
LLM_MODEL: str = _read("LLM_MODEL")
LLM_LOCAL_MODEL = _read("LLM_LOCAL_MODEL")
LLM_TIMEOUT_S: int = _read("LLM_TIMEOUT_S")
LLM_MAX_TOKENS: int = _read("LLM_MAX_TOKENS")
LLM_DAILY_TOKENS: int = _read("LLM_DAILY_TOKENS")
CHAT_HISTORY_CHARS: int = _read("CHAT_HISTORY_CHARS")
MEMORY_ENTRY_WARN_TOKENS: int = _read("MEMORY_ENTRY_WARN_TOKENS")
RECALL_MEANING: bool = _read("RECALL_MEANING")

# Logs: request id → task id → language model call id on every line.
LOGGING_CONFIG = None
LOG_LEVEL: str = _read("LOG_LEVEL")
LOG_FORMAT: str = _read("LOG_FORMAT")
logs.configure(LOG_LEVEL, LOG_FORMAT)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False  # synth.net.client_address binds the address that counts
SILENCED_SYSTEM_CHECKS: list[str] = []
UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Synth",
    "SITE_HEADER": "Synth",
    "SITE_SYMBOL": "psychology",
    "SITE_URL": None,  # "/" leads to the admin itself
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("synth/favicon.svg")}
    ],
    "STYLES": [lambda request: static("synth/admin.css")],
    "SIDEBAR": {"navigation": "growth.admin.desk.sidebar"},
    "DASHBOARD_CALLBACK": "growth.admin.desk.on_index",
}
