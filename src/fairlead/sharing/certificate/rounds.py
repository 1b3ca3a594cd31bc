"""The heart of the check: every round reached what it says, and could not have gone further."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fairlead.model.errors import CertificateError
from fairlead.model.proof import Round
from fairlead.sharing.certificate.prices import Scarce
from fairlead.sharing.certificate.seen import Bools, Floats
from fairlead.sharing.certificate.tolerances import EXACT, LEVEL, RISE, ROUNDING


@dataclass(frozen=True)
class Figures:
    """How far off the worst of everything is: violations, and the rise left open."""

    feasibility: float = 0.0
    gap: float = 0.0

    def worse(self, feasibility: float = 0.0, gap: float = 0.0) -> Figures:
        """The worse of both."""
        return Figures(max(self.feasibility, feasibility), max(self.gap, gap))


def check_rounds(
    scarce: Scarce,
    weight: Floats,
    scale: Floats,
    tasks: Floats,
    rounds: Iterable[Round],
    violation: float,
) -> Figures:
    """How exactly the tasks (J, C), which exceed what there is by `violation`, are those of a
    filling in these rounds. Raises CertificateError with the first thing that does not hold.

    In a round, prices on everything that is scarce and a price for each job's share are such that
    a task costs everywhere at least what the share of one task is worth. So the shares of any
    allocation are together worth at most what everything scarce is worth. Those reached are worth
    that much, so the active jobs could not all have risen further, nor could a job whose share
    has a price have risen while the others kept theirs.
    """
    filling = _Filling(scarce, weight, scale, scarce.possible(tasks))
    figures = Figures(feasibility=violation)
    for number, each in enumerate(rounds, 1):
        figures = filling.rise(each, f"round {number}", figures)
    if filling.active.any():
        name = scarce.seen.names[int(filling.active.argmax())]
        raise CertificateError(f"job {name} does not freeze in any round")
    runs = scale > 0
    share = tasks.sum(axis=1)[runs] / scale[runs]
    reached = filling.reached[runs]
    off = np.abs(share - reached) / np.where(reached > 0, reached, filling.apart[runs])
    if off.size and not off.max() <= EXACT:
        job = int(np.flatnonzero(runs)[off.argmax()])
        raise CertificateError(
            f"job {scarce.seen.names[job]} has the share {share[off.argmax()]:.12g}, and its"
            f" rounds give it {reached[off.argmax()]:.12g}"
        )
    feasibility = float(off.max(initial=0.0)) + violation
    return figures.worse(feasibility=feasibility, gap=filling.left_open())


class _Filling:
    """The state of a filling: who is active, the level and the shares that were reached."""

    def __init__(self, scarce: Scarce, weight: Floats, scale: Floats, possible: Floats) -> None:
        self.scarce, self.weight, self.scale = scarce, weight, scale
        self.possible = np.divide(possible, scale, out=np.zeros(len(scale)), where=scale > 0)
        self.active: Bools = scale > 0
        self.reached = np.zeros(len(scale))
        self.level = 0.0
        # For each that froze: what its round leaves open, and what its own share is worth.
        self.frozen: list[tuple[str, str, float, float]] = []
        self.shut = np.where(scarce.classes.usable.T, 0.0, np.inf)
        # What a job could have alone: the measure of a share where a level is 0.
        usable = np.where(scarce.classes.usable, scarce.classes.holds, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.apart: Floats = np.where(
                self.active, usable @ scarce.classes.count / scale, np.inf
            )

    def rise(self, each: Round, where: str, figures: Figures) -> Figures:
        """The figures after this round."""
        step = each.share - self.level
        if not 0 <= step < np.inf:
            raise CertificateError(f"{where}: its share {each.share} is below the one before")
        if not self.active.any():
            raise CertificateError(f"{where}: everyone is frozen before it")
        rate = self.scarce.tree.rates(self.weight, self.active)
        self.level = each.share
        self.reached += rate * step
        job_price = self._job_prices(each, where)
        rows = np.flatnonzero(job_price)
        prices = self.scarce.prices(each.stops, where)
        # What a job's share may be worth by the prices: it is not more than its task costs.
        sound = np.minimum(job_price[rows], prices.cheapest(self.shut)[rows] * self.scale[rows])
        measure = np.where(
            self.active[rows], rate[rows], self.reached[rows] / self.level if self.level else 0.0
        )
        excess = (job_price[rows] - sound) * measure
        # Of two small things one is enough: a part of the price, or a part of all that is worth.
        excess = np.minimum(excess, 1.0 - sound / job_price[rows])
        if excess.max(initial=0.0) > EXACT:
            name = self.scarce.seen.names[rows[excess.argmax()]]
            raise CertificateError(
                f"{where}: a task of {name} costs less on some class than its share is worth"
            )
        whole = float(sound @ rate[rows])
        if not abs(whole - 1.0) <= EXACT:
            raise CertificateError(
                f"{where}: the prices of the active jobs, each times its rate, add up to"
                f" {whole:.12g}, not to 1"
            )
        worth = float(sound @ self.reached[rows]) / whole
        gap = prices.bound() / whole - worth
        unit = self.level or float((self.apart[self.active] / rate[self.active]).min())
        if not abs(gap) <= max(EXACT * unit, min(ROUNDING * worth, LEVEL * unit)):
            raise CertificateError(
                f"{where}: its share is {self.level:.12g}, and the prices bound it by"
                f" {self.level + gap:.12g}"
            )
        price = np.zeros(len(job_price))
        price[rows] = sound / whole
        # Shares of which a part is not possible are possible without it. What it is worth is then
        # to be had, too: it could hide that somebody froze too early.
        hidden = float(price @ np.maximum(self.reached - self.possible, 0.0))
        self._freeze(each, where, price, abs(gap) + hidden)
        off = max(abs(whole - 1.0), float(excess.max(initial=0.0)))
        return figures.worse(feasibility=off, gap=abs(gap) / unit)

    def left_open(self) -> float:
        """The largest relative rise that the prices leave open to anyone when they froze."""
        worst = 0.0
        for name, where, left, own in self.frozen:
            rise = left / own if own > 0 else np.inf
            if not rise <= RISE:
                raise CertificateError(
                    f"{where}: job {name} freezes, but the prices leave it open to rise by"
                    f" {rise:.3g} of its share"
                )
            worst = max(worst, rise)
        return worst

    def _job_prices(self, each: Round, where: str) -> Floats:
        index = self.scarce.seen.job
        price = np.zeros(len(self.scale))
        stated = dict(each.job_prices)
        if len(stated) != len(each.job_prices):
            raise CertificateError(f"{where}: two prices for one job")
        if unknown := stated.keys() - index.keys():
            raise CertificateError(f"{where}: a price for job {min(unknown)}, which does not exist")
        at = np.fromiter(map(index.__getitem__, stated), np.int64, len(stated))
        value = np.fromiter(stated.values(), np.float64, len(stated))
        if not np.all((value >= 0) & (value < np.inf)):
            raise CertificateError(f"{where}: the price of a job is not a number of at least 0")
        price[at] = value
        if np.any(price[self.scale <= 0]):
            raise CertificateError(f"{where}: a price for a job that can run nowhere")
        return price

    def _freeze(self, each: Round, where: str, price: Floats, left: float) -> None:
        for name in each.frozen:
            job = self.scarce.seen.job.get(name)
            if job is None or not self.active[job]:
                raise CertificateError(f"{where}: {name} freezes, but is not active")
            self.active[job] = False
            own = float(price[job] * (self.reached[job] or self.apart[job]))
            self.frozen.append((name, where, left, own))
