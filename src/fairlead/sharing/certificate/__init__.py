"""The check of an answer and of its proof, by code that shares nothing with the solver."""

from fairlead.sharing.certificate.check import certify, verify
from fairlead.sharing.certificate.files import proof_from_json

__all__ = ["certify", "proof_from_json", "verify"]
