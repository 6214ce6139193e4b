"""Parses a move that a person types.

People write the claim 3x5 as "3 fives", "3 5" or "three fives", and doubt it
with "Dudo", "liar" or "doubt". The functions here know only names of moves, so
they work for every game.
"""

import re

_NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight",
    "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen",
    "sixteen", "seventeen", "eighteen", "nineteen", "twenty")
_WORDS = {
    "a": 1, "an": 1, "ace": 1, "aces": 1, "sixes": 6,
    **{word: number for number, word in enumerate(_NUMBER_WORDS)},
    **{f"{word}s": number
       for number, word in enumerate(_NUMBER_WORDS) if number},
}
_FILLERS = {"x", "times", "of", "dice", "die", "i", "say", "claim", "bid",
            "s"}
_DOUBTS = {"dudo", "doubt", "challenge", "liar", "lie", "bluff", "call liar"}


def _number(word):
  return int(word) if word.isdecimal() else _WORDS.get(word)


def parse_numbers(text):
  """Returns the list of numbers that the text consists of, or None.

  "3x5", "3 fives" and "I claim three fives" are all [3, 5].
  """
  words = [word for word in re.findall(r"[0-9]+|[a-z]+|[^\sa-z0-9]",
                                       text.lower())
           if word not in _FILLERS and word not in "-,.!'"]
  parsed = [_number(word) for word in words]
  return parsed if parsed and None not in parsed else None


def _plain(text):
  """Returns the text in lower case with single spaces."""
  return " ".join(text.lower().split())


def is_doubt(text):
  """Returns whether the text says that one does not believe a claim."""
  return _plain(text).strip("!. ") in _DOUBTS


def find(names, text):
  """Returns the action in {name: action} that a text means, or None.

  A person may type a name in upper or lower case; the beginning of its words,
  if no other move begins so; its numbers, if no other move has the same; or any
  word of doubt.
  """
  if text.strip() in names:
    return names[text.strip()]
  typed = _plain(text)
  for rule in (
      lambda name: _plain(name) == typed,
      lambda name: name.replace(" ", "").lower() == typed.replace(" ", ""),
      lambda name: is_doubt(typed) and is_doubt(name),
      lambda name: (parse_numbers(typed) and
                    parse_numbers(typed) == parse_numbers(name)),
      lambda name: _fits(typed, name),
      lambda name: typed.isalpha() and _plain(name).startswith(typed),
  ):
    meant = {action for name, action in names.items() if rule(name)}
    if len(meant) == 1:
      return meant.pop()
  return None


def _fits(typed, name):
  """Returns whether a text has all numbers of a name, and no other words."""
  digits, others = ([int(found) for found in re.findall("[0-9]+", text)]
                    for text in (typed, name))
  words, other_words = (set(re.findall("[a-z]+", text.lower()))
                        for text in (typed, name))
  return bool(digits) and digits == others and words <= other_words
