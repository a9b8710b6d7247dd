"""The portal's paths, below /portal/."""

from functools import partial

from django.urls import path

from gateway.sign_in import limited_leading
from portal.services.provider_members import member_user
from portal.views import (
    account,
    alert_address,
    comparing,
    fates,
    find,
    issued,
    keys,
    limits,
    overview,
    replays,
    rules,
    sign_in,
    team,
    usage,
    webhooks,
)
from staff.views.provider import Area, begin, end, finish

_PORTAL = Area(
    "portal:sign_in", "portal:provider_callback", "portal:code", "portal:overview", member_user
)

app_name = "portal"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-in/code/", sign_in.code, name="code"),
    path("sign-in/provider/", limited_leading(partial(begin, area=_PORTAL)), name="by_provider"),
    path("sign-in/provider/callback/", partial(finish, area=_PORTAL), name="provider_callback"),
    path(
        "sign-in/provider/sign-out/",
        limited_leading(partial(end, area=_PORTAL)),
        name="provider_sign_out",
    ),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("password/", sign_in.forgotten, name="forgotten"),
    path("password/<str:token>/", sign_in.new_password, name="new_password"),
    path("invitation/<str:token>/", sign_in.invitation, name="invitation"),
    path("keys/", keys.keys, name="keys"),
    path("keys/issue/", keys.issue, name="key_issue"),
    path("keys/compare/", comparing.compare, name="key_compare"),
    path("keys/issued/", issued.issued, name="issued"),
    path("keys/<int:pk>/", keys.key, name="key"),
    path("keys/<int:pk>/rotate/", keys.rotate, name="key_rotate"),
    path("keys/<int:pk>/end-overlap/", keys.end_overlap, name="key_end_overlap"),
    path("keys/<int:pk>/extend-overlap/", keys.extend_overlap, name="key_extend_overlap"),
    path("keys/<int:pk>/suspend/", keys.suspend, name="key_suspend"),
    path("keys/<int:pk>/resume/", keys.resume, name="key_resume"),
    path("keys/<int:pk>/revoke/", keys.revoke, name="key_revoke"),
    path("usage/", usage.usage, name="usage"),
    path("usage/csv/", usage.usage_csv, name="usage_csv"),
    path("limits/", limits.limits, name="limits"),
    path("limits/<int:pk>/", limits.key_limits, name="key_limits"),
    path("find/", find.find, name="find"),
    path("fates/", fates.fates, name="fates"),
    path("fates/<str:signature>/", fates.fate, name="fate"),
    path("fates/<str:signature>/replay/", replays.replay_fate, name="replay_fate"),
    path("bundles/<str:bundle_id>/", fates.bundle, name="bundle"),
    path("bundles/<str:bundle_id>/replay/", replays.replay_bundle, name="replay_bundle"),
    path("replays/", replays.replays, name="replays"),
    path("replays/builds/", replays.upload_build, name="replay_build"),
    path("replays/<uuid:replay_pk>/", replays.replay, name="replay"),
    path("replays/<uuid:replay_pk>/delete/", replays.delete, name="replay_delete"),
    path("webhooks/", webhooks.webhooks, name="webhooks"),
    path("webhooks/add/", webhooks.add, name="webhook_add"),
    path("webhooks/mails/", webhooks.mails, name="alert_mails"),
    path("webhooks/address/", alert_address.request_address, name="alert_address"),
    path("webhooks/address/members/", alert_address.use_members, name="alert_address_members"),
    path("alert-address/<str:token>/", alert_address.confirm, name="alert_address_confirm"),
    path("webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path("webhooks/<int:pk>/test/", webhooks.send_test, name="webhook_test"),
    path("webhooks/<int:pk>/secret/", webhooks.rotate_secret, name="webhook_secret"),
    path("webhooks/<int:pk>/enable/", webhooks.enable, name="webhook_enable"),
    path("webhooks/<int:pk>/disable/", webhooks.disable, name="webhook_disable"),
    path("webhooks/<int:pk>/delete/", webhooks.delete, name="webhook_delete"),
    path(
        "webhooks/<int:pk>/deliveries/<int:delivery_pk>/",
        webhooks.redeliver,
        name="webhook_redeliver",
    ),
    path("rules/", rules.rules, name="rules"),
    path("rules/add/", rules.add, name="rule_add"),
    path("rules/<int:pk>/", rules.rule, name="rule"),
    path("rules/<int:pk>/test/", rules.send_test, name="rule_test"),
    path("rules/<int:pk>/enable/", rules.enable, name="rule_enable"),
    path("rules/<int:pk>/disable/", rules.disable, name="rule_disable"),
    path("rules/<int:pk>/replay/", rules.replay, name="rule_replay"),
    path("rules/<int:pk>/delete/", rules.delete, name="rule_delete"),
    path("rules/<int:pk>/deliveries/<int:delivery_pk>/", rules.redeliver, name="rule_redeliver"),
    path("team/", team.team, name="team"),
    path("team/<int:pk>/invite/", team.invite_again, name="invite_again"),
    path("team/<int:pk>/role/", team.change_role, name="change_role"),
    path("team/<int:pk>/remove/", team.remove, name="remove"),
    path("account/", account.account, name="account"),
    path("account/second-step/", account.second_step, name="second_step"),
    path("account/recovery-codes/", account.recovery_codes, name="recovery_codes"),
    path("account/turn-off/", account.turn_off, name="turn_off"),
    path("account/sign-out/", account.sign_out_everywhere, name="sign_out_everywhere"),
]
