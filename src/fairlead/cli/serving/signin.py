"""The section `oidc` of the configuration file: the issuer of people's JWTs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fairlead.cli.common.inputs import close_match
from fairlead.cli.serving.values import SIGN_IN, reader_of
from fairlead.model.errors import InputError
from fairlead.model.nodes import Source
from fairlead.service.signin.settings import ALGORITHMS, SignInSettings, is_safe
from fairlead.wire.kinds import Role

Node = Any
"""Of YAML: only the model knows its type."""

_NEEDED = {
    "issuer": "write its URL, as the claim iss of its JWTs has it",
    "audience": "write what the claim aud of a JWT for this service says",
    "roles": "write which texts of the claim mean admin, tenant and viewer",
}

_LISTS = ("scopes", "algorithms")


def read_sign_in(source: Source, node: Node) -> SignInSettings | None:
    """The settings; None with mistakes."""
    before = len(source.mistakes)
    said: dict[str, Any] = {}
    names = [each.name for each in fields(SignInSettings)]
    children = source.mapping(node, ("oidc",), names)
    if children is None:
        return None
    for key, child in children.items():
        if key == "roles":
            said[key] = _roles(source, child)
        elif key in _LISTS:
            texts = [source.text(each, ("oidc", key)) for each in source.sequence(child, ()) or []]
            said[key] = tuple(text for text in texts if text is not None)
        else:
            said[key] = _value(source, child, key)
    for key, right in _NEEDED.items():
        if key not in children:
            source.wrong(node, ("oidc",), f"{key!r} is missing", right)
    if said.get("issuer") is not None and not is_safe(said["issuer"]):
        source.wrong(
            children["issuer"],
            ("oidc", "issuer"),
            "the keys of this issuer could be changed on the way",
            "write its address with https (http: on this machine alone)",
        )
    for each in said.get("algorithms", ()):
        if each not in ALGORITHMS:
            source.wrong(
                children["algorithms"],
                ("oidc", "algorithms"),
                f"{each[:40]!r} is not an algorithm with a public key",
                close_match(each, ALGORITHMS) or f"write some of {', '.join(ALGORITHMS)}",
            )
    if "algorithms" in said and not said["algorithms"]:
        source.wrong(children["algorithms"], ("oidc", "algorithms"), "none is allowed", "write one")
    return SignInSettings(**said) if len(source.mistakes) == before else None


def _value(source: Source, node: Node, key: str) -> Any:
    text = source.text(node, ("oidc", key))
    if text is None or not key.endswith("_seconds"):
        return text
    try:
        return reader_of(SIGN_IN, key)(text)
    except InputError as error:
        for mistake in error.mistakes:
            source.wrong(node, ("oidc", key), mistake.what, mistake.right)
        return None


def _roles(source: Source, node: Node) -> dict[str, Role]:
    found = {}
    known = [role.value for role in Role]
    for text, child in (source.mapping(node, ("oidc", "roles")) or {}).items():
        said = source.text(child, ("oidc", "roles", text))
        if said in known:
            found[text] = Role(said)
        elif said is not None:
            source.wrong(
                child,
                ("oidc", "roles", text),
                f"{said[:40]!r} is no role",
                f"write {', '.join(known)}",
            )
    if not found:
        source.wrong(node, ("oidc", "roles"), "nobody has a role", "write TEXT: admin, say")
    return found
