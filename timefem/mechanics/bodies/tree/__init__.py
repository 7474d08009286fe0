"""Open chains of links in joint coordinates."""
