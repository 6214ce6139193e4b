"""Games told and played in words: what a person is told, and what one types.

`narrators.make_narrator` returns the narrator of a game.
"""
