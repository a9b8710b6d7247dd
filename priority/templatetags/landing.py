"""Figures of landing in templates."""

from django import template

from priority.reports.landing_formats import class_name, microseconds, percent

register = template.Library()
for _filter in (class_name, microseconds, percent):
    register.filter(_filter.__name__, _filter)
