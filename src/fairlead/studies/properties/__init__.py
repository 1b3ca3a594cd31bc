"""Tables of properties: a search for witnesses in small inputs, against what the papers claim."""
