"""The path of operations."""

from django.urls import path

from operations.views import Metrics

urlpatterns = [path("metrics", Metrics.as_view())]
