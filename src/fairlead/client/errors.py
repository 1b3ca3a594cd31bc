"""Errors between a client and the service, each with a way out of it."""

from __future__ import annotations

from fairlead.model.errors import FairleadError, Mistake


class ServiceError(FairleadError):
    """The service did not do what it was asked. `status` is the answer's, None without one."""

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


class UnreachableError(ServiceError):
    """No answer came: nothing listens there, the name is not known, or TLS failed. `sent`: the
    service may have taken the request in all the same. `in_vain`: somebody is there with whom no
    connection comes about, so that to ask again changes nothing."""

    def __init__(self, sentence: str, sent: bool = False, in_vain: bool = False) -> None:
        super().__init__(sentence)
        self.sent, self.in_vain = sent, in_vain


class NotAllowedError(ServiceError):
    """The token is missing or wrong, or may not do this."""


class RefusedError(ServiceError):
    """The request makes no sense to the service: a name that it does not know, a job that
    cannot run. The sentences say what would be right. `sentences` has one for each mistake, and
    `mistakes` the same with what each is about."""

    def __init__(self, mistakes: tuple[Mistake, ...], status: int | None = None) -> None:
        self.mistakes = mistakes
        self.sentences = tuple(map(str, mistakes))
        super().__init__("\n".join(self.sentences), status)


class UnknownNameError(RefusedError):
    """The service knows nothing of that name."""


class BusyError(ServiceError):
    """The service cannot do it now: too many requests, a full disk. It may be asked again."""


class NotLeadingError(BusyError):
    """This service follows the one that leads, and changes nothing: that one is to be asked."""


class AnswerError(ServiceError):
    """The answer cannot be understood: something else than a Fairlead service answers there, or one
    of another version."""


class FailedError(AnswerError):
    """The service failed at the request, of which nothing was done: a mistake of its own."""
