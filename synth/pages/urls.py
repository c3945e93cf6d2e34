"""The addresses of the server's own pages."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from synth.pages import chat, conformance

urlpatterns = [
    path("login/", LoginView.as_view(template_name="synth/login.html", next_page="/chat/"), name="login"),
    path("logout/", LogoutView.as_view(next_page="/login/"), name="logout"),
    path("chat/", chat.index, name="chat"),
    path("chat/new/", chat.new, name="chat-new"),
    path("chat/conformance/", conformance.page, name="chat-conformance"),
    path("chat/approvals/<uuid:approval_id>/", chat.decide, name="chat-decide"),
    path("chat/<uuid:dialogue_id>/", chat.dialogue, name="chat-dialogue"),
    path("chat/<uuid:dialogue_id>/earlier/", chat.earlier, name="chat-earlier"),
    path("chat/<uuid:dialogue_id>/say/", chat.say, name="chat-say"),
    path("chat/<uuid:dialogue_id>/again/", chat.again, name="chat-again"),
    path("chat/<uuid:dialogue_id>/branch/", chat.branch, name="chat-branch"),
    path("chat/<uuid:dialogue_id>/news/", chat.news, name="chat-news"),
    path("chat/<uuid:dialogue_id>/stop/", chat.stop, name="chat-stop"),
    path("chat/<uuid:dialogue_id>/change/", chat.change, name="chat-change"),
    path("chat/<uuid:dialogue_id>/messages/<int:message_id>/", chat.bubble, name="chat-bubble"),
]
