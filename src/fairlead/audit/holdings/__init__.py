"""The resources that everybody holds, and what anybody could run with them."""
