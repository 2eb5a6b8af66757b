"""The form to sign in with a token."""

from __future__ import annotations

from es_dedup.model.translations import translate
from es_dedup.views.forms import button, entry, hidden, labelled
from es_dedup.views.frame import framed, path
from es_dedup.views.markup import element, escape


def sign_in_form(language: str, to: str, *, wrong: bool = False) -> bytes:
    """The form, which leads to an address of the console; ``wrong``: the token that was sent is not known."""
    note = "The token for reading or for writing, from the file that serve.token_file names."
    token = entry("token", "password", required=True, autofocus=True, autocomplete="current-password")
    unknown = translate(language, "This token is not known.")
    form = element(
        "form",
        hidden({"to": to}),
        labelled(language, "Token", token),
        element("p", escape(unknown), class_="wrong", role="alert") if wrong else "",
        element("p", escape(translate(language, note)), class_="note"),
        button(language, "Sign in"),
        action=path("sign-in"),
        method="post",
        class_="login",
    )
    return framed(translate(language, "Sign in"), form, language, signed_in=False)
