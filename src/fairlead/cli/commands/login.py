"""`fairlead login`: sign in as a person, at the issuer that the service believes."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from fairlead.cli.common.inputs import complain
from fairlead.cli.common.remote import add_service, at, only_text, say_answer
from fairlead.model.errors import InputError
from fairlead.model.words import escaped

EPILOG = """\
examples:
  fairlead login                                  at the service that is found without --url
  fairlead login --url https://fairlead.example
  fairlead logout

It prints an address and a code to type there, in any browser. What comes back is kept for this user
alone and renewed until it is revoked at the issuer. Programs use tokens: `fairlead token create`.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    from fairlead.client.client import Client
    from fairlead.client.issuer import IssuerAnswerError, ask_code, discover, wait_for_tokens
    from fairlead.client.login import Login, keep_login, login_file, with_tokens
    from fairlead.client.places import find_place

    only_text(args)
    if os.environ.get("FAIRLEAD_TOKEN"):
        raise InputError(
            "FAIRLEAD_TOKEN is set, and goes before any sign-in", "unset it, then sign in"
        )
    place = find_place(args.url)
    with Client(place=replace(place, token=None, login=None)) as client:
        said = client.signin()
    if said.issuer is None or said.audience is None:
        raise InputError(
            f"{place.url} takes tokens alone",
            "ask its administrator for one (fairlead token create)",
        )
    try:
        found = discover(said.issuer)
        if said.client is None or found.device is None:
            raise InputError(
                f"{said.issuer} offers no sign-in by a code"
                if said.client is not None
                else f"{place.url} names no client for a sign-in by a code",
                f"get a JWT for {said.audience!r} from {said.issuer} in its own way, and set"
                " FAIRLEAD_TOKEN to it",
            )
        code = ask_code(found.device, said.client, said.scopes)
        complain(f"Sign in at {escaped(code.page)} with the code {escaped(code.user_code)}")
        if code.whole is not None:
            complain(f"or at {escaped(code.whole)}")
        answer = wait_for_tokens(found.token, said.client, code)
    except IssuerAnswerError as error:
        raise InputError(
            f"the sign-in failed: {error}", "ask the service's administrator"
        ) from error
    urls = (place.url, *place.others)
    login = Login(
        urls=urls,
        issuer=said.issuer,
        client=said.client,
        token_endpoint=found.token,
        token="",
        until=None,
        refresh=None,
        id_token=said.audience == said.client,
        file=login_file(os.environ),
    )
    login = with_tokens(login, answer)
    with Client(place=replace(place, token=None, login=login)) as client:
        me = client.me()
    keep_login(login)
    tree = {
        "schema": "fairlead.login/1",
        "name": me.name,
        "role": me.role.value,
        "tenant": me.tenant,
        "until": None if login.until is None else int(login.until * 1e6),
    }
    whom = f" for {escaped(me.tenant)}" if me.tenant is not None else ""
    until = "" if login.until is None else f", until {at(int(login.until * 1e6))}"
    renewed = " and renewed then" * (login.refresh is not None and login.until is not None)
    say_answer(
        args,
        tree,
        lambda _: [
            f"signed in as {escaped(me.name or '')} ({me.role.value}{whom}){until}{renewed}"
        ],
    )
    return 0
