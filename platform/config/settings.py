"""Every setting, once, each with its reason. What differs between installations is environment."""

from pathlib import Path

from config import env
from embedded.addresses import database_settings, embedded_addresses

ROOT = Path(__file__).resolve().parent.parent.parent

# Where the embedded servers keep their data; DATABASE_URL and REDIS_URL replace them.
RUN_DIR = Path(env.text("TIDEMARK_RUN_DIR", str(ROOT / ".run")))
_embedded = embedded_addresses(RUN_DIR)
DATABASE_URL = env.text("DATABASE_URL", _embedded.database_url)
REDIS_URL = env.text("REDIS_URL", _embedded.redis_url)

DEBUG = env.boolean("DEBUG", False)
DOMAIN = env.text("DOMAIN", "localhost")
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]", f".{DOMAIN}"])

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "access",
    "gateway",
    "historical",
    "ingest",
    "config",
]

MIDDLEWARE: list[str] = [
    "gateway.middleware.HostMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
APPEND_SLASH = False
