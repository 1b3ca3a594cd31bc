"""A catalogue of machines: what can be bought, at which price, how many at most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fairlead.model.errors import About, InputError, Mistake, Mistakes, Place
from fairlead.model.fields import MACHINE
from fairlead.model.machine import Machine
from fairlead.model.nodes import Source, documents, is_null
from fairlead.model.quantity import exact
from fairlead.model.tenant import positive

if TYPE_CHECKING:  # YAML itself is for the model's files
    from yaml.nodes import Node

SECTION = "catalogue"
KEYS = ("name", "price", "capacity", "labels", "at_most")


@dataclass(frozen=True)
class Offer:
    """A machine that can be bought. `machine.name` is the offer's; `price` is in the unit of the
    budget, None where it is not for sale; `at_most` None: any number."""

    machine: Machine
    price: Fraction | None = None
    at_most: int | None = None

    @property
    def name(self) -> str:
        return self.machine.name


def read_catalogue(file: str, text: str) -> tuple[Offer, ...]:
    """The offers in a text, YAML or JSON with a list under `catalogue`. Raises InputError with
    every mistake and its place."""
    mistakes = Mistakes()
    source = Source(file, mistakes)
    offers: dict[str, Offer] = {}
    for document in documents(file, text, mistakes):
        if is_null(document):
            continue
        sections = source.mapping(document, (), (SECTION,)) or {}
        entries = source.sequence(sections[SECTION], (SECTION,)) if sections else None
        for entry in entries or ():
            offer = _offer(source, entry)
            if offer is not None and offer.name in offers:
                about = ("offer", offer.name)
                source.wrong(entry, about, "there is such an offer already", "rename one of them")
            elif offer is not None:
                offers[offer.name] = offer
    if not offers and not mistakes:
        what, right = "there is no offer here", "write a list of machines under catalogue:"
        mistakes.append(Mistake(what, right, Place(file, 1, 1)))
    mistakes.report()
    return tuple(offers.values())


def _offer(source: Source, entry: Node) -> Offer | None:
    """The offer of an entry; None and mistakes where it is none."""
    about: About = ("offer", source.peek(entry, "name"))
    before = len(source.mistakes)
    fields = source.mapping(entry, about, KEYS)
    if fields is None:
        return None
    for key, example in (("name", "name: h100-node"), ("capacity", "capacity: {cpu: 96, gpu: 8}")):
        if key not in fields:
            source.wrong(entry, about, f"it has no {key}", f"write for example {example}")
    values = {
        key: MACHINE.fields[key](source, fields[key], (*about, key))
        for key in ("name", "capacity", "labels")
        if key in fields
    }
    texts = {
        key: source.text(fields[key], (*about, key))
        for key in ("price", "at_most")
        if key in fields
    }
    if len(source.mistakes) > before:
        return None
    found = Mistakes()
    machine = found.attempt((), Machine, **values)
    price = most = None
    if texts.get("price") is not None:
        price = found.attempt((*about, "price"), _price, texts["price"] or "")
    if texts.get("at_most") is not None:
        most = found.attempt((*about, "at_most"), _count, texts["at_most"] or "")
    for mistake in found:
        path = mistake.about[2:]
        place = source.find(entry, path or ("name",))
        source.mistakes.append(replace(mistake, about=(*about, *path), place=place))
    return None if found or machine is None else Offer(machine, price, most)


def _price(text: str) -> Fraction:
    return positive(text)


def _count(text: str) -> int:
    number = exact(text)
    if number.denominator != 1 or number < 0:
        raise InputError(f"{text} is not a number of machines", "write a whole number")
    return int(number)
