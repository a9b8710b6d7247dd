"""Filters and tags by which the admin's templates format values."""

from collections import Counter

from django.template import Context, Template


def shown(text: str, **values: object) -> str:
    return Template("{% load formats %}" + text).render(Context(values))


def test_a_table_has_its_columns_with_their_hints() -> None:
    page = shown(
        '{% table "Slots" "Count|number" "First|number|Of all" look="wide" %}'
        "<tr><td>{{ name }}</td></tr>{% endtable %}",
        name="<7>",
    )
    assert '<table class="tm-table tm-wide">' in page
    assert (
        '<tr><th>Slots</th><th class="tm-number">Count</th>'
        '<th class="tm-number" title="Of all">First</th></tr>' in page
    )
    assert "<tbody><tr><td>&lt;7&gt;</td></tr></tbody>" in page


def test_counters_are_read_by_filters() -> None:
    """A Counter answers 0 to the name of its own method."""
    counts = Counter({"sent": 1_234, "refused": 2})
    assert shown("{{ counts|total|grouped }}", counts=counts) == "1,236"
    assert shown('{{ counts|of:"failed" }}', counts=counts) == "0"
    text = "{% for name, count in counts|most_common %}{{ name }} {{ count }} {% endfor %}"
    assert shown(text, counts=counts) == "sent 1234 refused 2 "


def test_states_of_jobs_have_their_hues() -> None:
    assert 'class="tm-word tm-good"' in shown('{{ "done"|state_badge }}')
    assert 'class="tm-word tm-bad"' in shown('{{ "failed"|state_badge }}')
    assert 'class="tm-word tm-quiet"' in shown('{{ "cancelled"|state_badge }}')
