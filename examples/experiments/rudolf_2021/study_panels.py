"""Draws how solvers converge: a panel for each game, a line for each solver.

More lines than eight cannot be told apart by colour alone, least of all by
people who see few colours. So each line has a marker and a dash pattern of its
own too, and its name is at its end. Markers are hollow: where lines
coincide, all their markers are seen.
"""

from dudo_spiel_examples.support import figures

import math
import re
from typing import NamedTuple

import numpy as np

_COLUMNS = 2
_PANEL = (6.4, 3.9)  # inches
_MAX_PANELS = 4  # of a picture
# Okabe & Ito's colours, which the colour-blind can tell apart, without yellow.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9",
           "#E69F00")
_MARKERS = "os^vDPX*<>hp"
_DASHES = ("-", "--", "-.", ":")
_GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "epsilon": "ε",
          "-inf": "−∞", "inf": "∞"}
_MAX_TICKS = 1000  # Ticks at 1, 2 and 5 fit if the axis grows by less.
_LABEL_GAP = 0.06  # between two labels, as a part of the panel's height
_MIN_SHOWN = 1e-12  # Less is drawn as this: rounding errors are not far below.


def draw(curves, names, by_time, path):
  """Draws pictures of at most four panels.

  Args:
    curves: {game: {solver: list of Measurement}}.
    names: list of the solvers; the place in it decides how a line looks.
    by_time: whether to draw exploitability by seconds, not iterations.
    path: the PNG file; further ones have a number in their name.
  """
  games = list(curves)
  for begin in range(0, len(games), _MAX_PANELS):
    page = games[begin:begin + _MAX_PANELS]
    columns = min(_COLUMNS, len(page))
    rows = math.ceil(len(page) / columns)
    figure, axes = figures.subplots(
        rows, columns, squeeze=False,
        figsize=(_PANEL[0] * columns, _PANEL[1] * rows))
    for axis, game in zip(axes.flat, page):
      _draw_panel(axis, game, curves[game], names, by_time)
    for axis in axes.flat[len(page):]:
      axis.set_visible(False)
    number = begin // _MAX_PANELS
    figures.save(figure, path.replace(".png", f"_{number + 1}.png")
                 if number else path)


def _draw_panel(axis, game, curves, names, by_time):
  """Draws the panel of a game.

  Args:
    axis: matplotlib's.
    game: its name.
    curves: {solver: list of `convergence.Measurement`}.
    names: list of all solvers, by which each line gets its style.
    by_time: whether to draw over seconds, and not over iterations.
  """
  ends = {}
  is_cut = False
  for name, curve in curves.items():
    x = [point.seconds if by_time else point.iteration for point in curve]
    y = [max(point.exploitability, _MIN_SHOWN) for point in curve]
    number = names.index(name)
    color = _COLORS[number % len(_COLORS)]
    is_cut |= min(point.exploitability for point in curve) < _MIN_SHOWN
    axis.loglog(x, y, color=color, linewidth=1.0, markersize=5,
                marker=_MARKERS[number % len(_MARKERS)], fillstyle="none",
                linestyle=_DASHES[number // len(_COLORS) % len(_DASHES)])
    ends[name] = (x[-1], y[-1], color, _MARKERS[number % len(_MARKERS)])
  axis.set(title=_title(game),
           ylabel=f"exploitability, at least {_MIN_SHOWN:g}" if is_cut else
           "exploitability",
           xlabel="seconds" if by_time else "iterations")
  axis.tick_params(labelsize=8)
  first, last = axis.get_xlim()
  if last < _MAX_TICKS * first:
    figures.set_logarithmic(axis, "x")
  axis.title.set_fontsize(9)
  axis.grid(alpha=0.3)
  _label(axis, ends)


def _label(axis, ends):
  """Writes each line's name beside its end, none over another.

  Args:
    axis: matplotlib's.
    ends: {name: (x, y, color, marker)}, the last point of each line.
  """
  low, high = np.log(axis.get_ylim())
  left, right = np.log(axis.get_xlim())
  gap = min(_LABEL_GAP, 1.0 / max(len(ends) - 1, 1))
  order = sorted(ends, key=lambda name: ends[name][1])
  wanted = [(math.log(ends[name][1]) - low) / (high - low) for name in order]
  for name, height in zip(order, spread(wanted, gap)):
    x, y, color, marker = ends[name]
    end = ((math.log(x) - left) / (right - left),
           (math.log(y) - low) / (high - low))
    # From the end of the line to its name.
    axis.plot([end[0], 1.03], [end[1], height], color=color, linewidth=0.6,
              alpha=0.6, transform=axis.transAxes, clip_on=False)
    axis.plot([1.03], [height], color=color, marker=marker, markersize=5,
              fillstyle="none", transform=axis.transAxes, clip_on=False)
    axis.text(1.05, height, _short(name), fontsize=8, transform=axis.transAxes,
              verticalalignment="center")


def spread(wanted, gap):
  """Returns positions from 0 to 1, near those wanted and a gap apart.

  Args:
    wanted: list of float, sorted.
    gap: the smallest distance; (len(wanted) - 1) * gap <= 1, so that all fit.
  """
  groups = []
  for position in wanted:
    groups.append(_group(1, position, gap))
    # Groups that overlap become one, around the middle of what they want.
    while len(groups) > 1 and (groups[-2].first + groups[-2].members * gap >
                               groups[-1].first):
      last = groups.pop()
      groups[-1] = _group(groups[-1].members + last.members,
                          groups[-1].total + last.total, gap)
  return [group.first + gap * member
          for group in groups for member in range(group.members)]


class _Group(NamedTuple):
  """Neighbours a gap apart.

  Attributes:
    first: the position of the first of them.
    members: how many there are.
    total: sum of the positions that they want.
  """
  first: float
  members: int
  total: float


def _group(members, total, gap):
  """Returns the `_Group` around the middle of what it wants, from 0 to 1."""
  length = gap * (members - 1)
  first = total / members - length / 2
  return _Group(min(max(first, 0.0), 1.0 - length), members, total)


def _title(game):
  """Returns a game's name in lines that fit the panel."""
  name = game
  remembers = re.fullmatch(r"perfect_recall\((.*)\)", game)
  if remembers:
    name = remembers[1]
  short_name, _, parameters = name.partition("(")
  parameters = parameters.removesuffix(")").replace(",", ", ")
  title = f"{short_name}({parameters})" if parameters else short_name
  if remembers:
    title += ", perfect recall"
  if len(title) > 62:
    cut = title.rfind(" ", 0, 62)
    title = f"{title[:cut]}\n{title[cut + 1:]}"
  return title


def _short(name):
  """Returns a solver's name with Greek letters, without what all know."""
  name = re.sub(r",?planned_iterations=\d+", "", name).replace("()", "")
  for word, letter in _GREEK.items():
    name = name.replace(word, letter)
  return name.replace(",", ", ")
