"""Shared by the programs that draw: figures, axes, files."""

from dudo_spiel_examples.support import binary

import io
import logging
import sys


def counts(iterations, growth=1.03):
  """Returns iteration counts up to the last, growing by a factor.

  Args:
    iterations: the last.
    growth: the factor; counts grow by one at least.
  """
  result = [1]
  while result[-1] < iterations:
    result.append(min(iterations, max(result[-1] + 1,
                                      int(result[-1] * growth))))
  return result


def check_plot(flag):
  """Raises a ValueError if the picture of a flag could not be drawn.

  Args:
    flag: the flag; nothing is checked if it has no value.
  """
  if flag.value is not None:
    binary.check_file(flag.name, flag.value)
    if not flag.value.endswith(".png"):
      raise ValueError(f"--{flag.name}={flag.value}: must end with .png")
    check_matplotlib(flag)


def check_matplotlib(flag):
  """Raises a ValueError if there is no matplotlib, which the flag needs."""
  try:
    import matplotlib  # noqa: F401, the extra `plot`
  except ModuleNotFoundError as error:
    raise ValueError(
        f"--{flag.name}={flag.value}: pictures need matplotlib; install it "
        f"with {sys.executable} -m pip install matplotlib ({error})") from None


def subplots(*shape, **options):
  """Returns a matplotlib figure and its axes, as `pyplot.subplots` does."""
  import matplotlib  # the extra `plot`
  logging.getLogger("matplotlib").setLevel(logging.WARNING)
  matplotlib.use("Agg")
  from matplotlib import pyplot
  return pyplot.subplots(*shape, layout="constrained", **options)


def set_logarithmic(axes, name):
  """Makes a scale logarithmic, with plain numbers at 1, 2 and 5.

  Args:
    axes: matplotlib's.
    name: "x" or "y".
  """
  from matplotlib import ticker
  axes.set(**{f"{name}scale": "log"})
  side = getattr(axes, f"{name}axis")
  side.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
  side.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
  side.set_minor_formatter(ticker.NullFormatter())


def save(figure, path):
  """Writes a picture next to its place, and renames it when it is whole."""
  from PIL import Image  # matplotlib needs it too
  with io.BytesIO() as whole:
    figure.savefig(whole, format="png", dpi=100)
    image = Image.open(whole).convert("RGB")
  # Few colours make small files.
  with binary.replacing(path) as file:
    image.quantize(64).save(file, format="png", optimize=True)
  print(f"wrote {path}")
