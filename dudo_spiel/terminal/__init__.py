"""The terminal player: a narrator tells a game in words, a person types moves.

`registry.make_narrator` returns the narrator of a game. `session.Session` plays
game after game.
"""
