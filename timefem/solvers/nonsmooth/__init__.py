"""Impacts, rigid contact and set-valued friction in marches: nodes on events, laws of impact, modes of contacts."""
