"""Sign-in of people: the JWTs of an OpenID Connect issuer, checked and read."""
