"""Every Celery app of a process connects as config.celery_broker does, whichever area made it."""

from kombu.transport import TRANSPORT_ALIASES

# A setting could name it for a host and port alone: of a unix socket kombu asks the URL.
TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "config.celery_broker:Transport"
