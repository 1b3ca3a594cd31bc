"""Limits on what comes in, each with its default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Limits of the API. They protect the service from its clients, and clients from each other."""

    connections: int = 2000
    """That are open at one moment."""
    address_connections: int = 256
    """The same, from one address; not behind a proxy. For one more, one without a token ends."""
    tenant_connections: int = 64
    """The same, of one tenant's tokens; one more counts as one without a token."""
    handshakes: int = 1000
    """Of TLS that have begun and not ended. For one more, the oldest ends."""
    address_handshakes: int = 256
    """The same, from one address; not behind a proxy."""
    head_seconds: float = 30.0
    """Within which a connection has sent the head of a request."""
    head_bytes: int = 32 * 2**10
    """Of the head of a request: its address and headers."""
    body_bytes: int = 8 * 2**20
    """Of a request's body."""
    bodies_bytes: int = 128 * 2**20
    """Of the bodies of all requests that are not answered yet."""
    tenant_bodies_bytes: int = 32 * 2**20
    """The same, of one tenant's tokens."""
    body_seconds: float = 30.0
    """Within which a body has come."""
    answer_seconds: float = 60.0
    """Within which the loop answers; then 503."""
    batch_jobs: int = 10_000
    """Of one submission."""
    yaml_nodes: int = 500_000
    """Of a YAML body, each alias counted as what it stands for."""
    listed_names: int = 50_000
    """Names of machines that the lists of one request mean."""
    token_rate: float = 1000.0
    """Requests a second of one tenant's tokens, in the long run."""
    token_burst: float = 2000.0
    """Requests of one tenant's tokens at once."""
    connecting_rate: float = 0.25
    """Of the event loop's time that one tenant has before his next connection waits where others
    ask, too, in the long run."""
    connecting_burst: float = 0.25
    """Seconds of the event loop's time that he has at once before that."""
    address_rate: float = 2000.0
    """Requests a second from one address, without a token that is good."""
    address_burst: float = 4000.0
    """Requests from one address at once, without a token that is good."""
    guess_rate: float = 1.0
    """Requests a second with a wrong token, from one address."""
    guess_burst: float = 20.0
    """Requests with a wrong token at once, from one address."""
    reading_rate: float = 0.1
    """Of the loop's time that one tenant's requests take for reading, in the long run."""
    reading_burst: float = 2.0
    """Seconds of the loop's time that one tenant's requests take at once."""
    changing_rate: float = 0.1
    """Of the loop's time that one tenant's changes take where others ask, too, in the long run."""
    changing_burst: float = 2.0
    """Seconds of the loop's time that one tenant's changes take at once where others ask, too."""
    heavy_rate: float = 2.0
    """Reasons and what-ifs a second of one tenant: each computes for long."""
    heavy_burst: float = 30.0
    """Reasons and what-ifs of one tenant at once."""
    refusal_seconds: float = 0.5
    """After which, at most, one is told that requests are too many."""
    page: int = 1000
    """Entries of a page at most, and where nothing is asked."""
    output_bytes: int = 2**20
    """Of an output in one answer at most."""
    fetching: int = 8
    """Outputs that are fetched at one moment."""
    streams: int = 200
    """Event streams and outputs that are followed, together."""
    token_streams: int = 20
    """The same, of one token."""
    tenant_streams: int = 60
    """The same, of one tenant's tokens."""
    kept_events: int = 20_000
    """Entries of the journal in memory; who is further behind is given them from the journal."""
    heartbeat_seconds: float = 15.0
    """Without an event; then a comment is sent, so that nobody takes the stream for dead."""
    poll_seconds: float = 0.25
    """Between two looks at an output that is followed."""
    tokens_seconds: float = 1.0
    """For which the tokens that were read are believed."""
    heavy: int = 2
    """Reasons and what-ifs that are computed at one moment; of one tenant all but one of them."""
    threads: bool = True
    """Large bodies are read, and outputs fetched, in threads. Not where all must be repeatable."""
    graphs: str = ""
    """Address of graphs of the nodes (Grafana, say), to which the dashboard links; empty: none."""
    addresses: tuple[str, ...] = ()
    """Where this service and its standbys answer: a page whose own is away links to them."""
