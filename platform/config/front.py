"""The front page: what answers here, for whoever opens the address in a browser."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def front_page(request: HttpRequest) -> HttpResponse:
    base = f"{request.scheme}://{request.get_host()}"
    return render(request, "front.html", {"base": base})
