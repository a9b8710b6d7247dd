"""The path of operations."""

from django.urls import path

from operations.views import metrics

urlpatterns = [path("metrics", metrics)]
