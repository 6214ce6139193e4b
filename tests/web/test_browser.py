"""The page in a real browser: Chromium without a screen.

Without Chromium or Playwright the tests are skipped. On Debian
`apt-get install chromium` brings the one and the extra `browser` the other.
"""

import os
import pathlib
import re
import shutil

import pytest
from web import page_server

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="needs Playwright, of the extra browser")
pytest.importorskip("flask", reason="needs the extra web")
image = pytest.importorskip("PIL.Image", reason="needs Pillow")

from dudo_spiel.algorithms import exploitability  # noqa: E402
from dudo_spiel.algorithms import policy_bots  # noqa: E402

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_CHROMIUM is None, reason="needs the browser Chromium: "
                       "apt-get install chromium")]
_PATIENCE = 30_000  # milliseconds, for a machine with other work
_WIDTHS = {"phone": (360, 740), "wide": (1280, 900)}


@pytest.fixture(name="browser", scope="module")
def _browser():
  with sync_api.sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=_CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
    yield browser
    browser.close()


@pytest.fixture(name="url", scope="module")
def _url():
  with page_server.PageServer() as server:
    yield server.url


@pytest.fixture(name="page", params=_WIDTHS)
def _page(request, browser):
  """A page of each width; whatever goes wrong in it fails the test."""
  width, height = _WIDTHS[request.param]
  context = browser.new_context(
      viewport={"width": width, "height": height},
      color_scheme="dark" if request.param == "phone" else "light")
  context.set_default_timeout(_PATIENCE)
  page = context.new_page()
  errors = []
  page.on("pageerror", lambda error: errors.append(str(error)))
  page.on("console", lambda message: errors.append(message.text)
          if message.type == "error" else None)
  page.on("request", lambda request: errors.append(request.url)
          if not request.url.startswith(("http://127.0.0.1:", "data:"))
          else None)
  yield page
  context.close()
  assert not errors


def _fits(page):
  """Returns whether nothing is wider than the screen."""
  return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def _percent(text):
  return float(text.rstrip("%")) / 100.0


def _begin(page, url, dice=2):
  page.goto(url)
  page.select_option("#dice", str(dice))
  page.click("form button[type=submit]")
  page.wait_for_selector(".stage")


def _state(page):
  """Returns the match as the page gets it."""
  return page.evaluate("fetch('/api/match').then((r) => r.json())")


def _exact(view):
  """Returns the library's `ActionValues` for the person's move."""
  policy = policy_bots.load_policy()
  order = policy.rules.claim_order(sum(view["dice"]))
  return exploitability.action_values(
      policy, tuple(view["dice"]),
      [order.parse(claim["name"]) for claim in view["claims"]],
      bytes(view["hand"]))


def _until(page, is_so):
  """Waits until a function says so; the page's policy forbids to wait there."""
  for _ in range(_PATIENCE // 50):
    if is_so():
      return
    page.wait_for_timeout(50)
  raise AssertionError("it took too long")


def _until_after(page, turn):
  """Waits until the match has gone on from a turn, and the page shows it."""
  _until(page, lambda: _state(page)["turn"] > turn)
  over = {"move": "#help-button", "reveal": "#next", "over": "#again"}
  page.wait_for_selector(f".stage {over[_state(page)['phase']]}")


def _click_move(page, move):
  turn = _state(page)["turn"]
  page.click(f".stage [data-move='{move}']")
  _until_after(page, turn)


def test_a_match_with_help_and_review(page, url):
  _begin(page, url)
  assert _fits(page)
  moves = 0
  while True:
    view = _state(page)
    if view["phase"] == "over":
      break
    if view["phase"] == "reveal":
      page.wait_for_selector("#next")
      shown = page.locator(".seat .die.counts").count()
      assert shown == view["reveal"]["count"]
      page.wait_for_selector("#round-review")
      page.click("#next")
      page.wait_for_selector(".ladder")
      continue
    page.wait_for_selector(".ladder")
    enabled = page.locator(".rung:not([disabled])").all()
    assert {rung.get_attribute("data-move") for rung in enabled} == (
        set(view["legal"]) - {"Dudo"})
    dice = page.locator(".seat.mine > .dice .die").all()
    assert [die.get_attribute("aria-label") for die in dice] == [
        str(face) for face in view["hand"]]
    assert page.locator(".seat:not(.mine) .hidden-die").count() == (
        view["dice"][1])
    if not page.query_selector("#help-panel"):
      page.click("#help-button")
    page.wait_for_selector("#help-table tbody tr")
    assert page.locator("#help-table .policy .bar").first.is_visible()
    exact = _exact(view)
    rows = page.locator("#help-table tbody tr").all()
    for row in rows[:5]:
      at = exact.names.index(row.get_attribute("data-move"))
      assert _percent(row.locator(".value").inner_text()) == pytest.approx(
          exact.values[at], abs=6e-5)
    assert ("Dudo" in view["legal"]) == any(
        row.get_attribute("data-move") == "Dudo" for row in rows)
    first = exact.names.index(rows[0].get_attribute("data-move"))
    assert exact.values[first] == pytest.approx(exact.values.max(), abs=1e-6)
    moves += 1
    # The second best move, so that there is something to review.
    order = exact.values.argsort()[::-1]
    _click_move(page, exact.names[order[min(1, len(order) - 1)]])
  page.wait_for_selector("#again")
  assert page.locator("#score").inner_text() == (
      f"You won {view['score']['won']}, lost {view['score']['lost']}")
  assert _fits(page)
  page.wait_for_selector("#round-review")
  for badge in page.locator("#round-review h2 ~ h2 + .moves .badge").all():
    assert re.fullmatch(r"lost [0-9.]+% of a match", badge.inner_text())
  page.click("nav a[href='#/review']")
  page.wait_for_selector("#review-table, .card a[href='#/play']")
  if moves:
    assert page.locator("#review-table tbody tr").count() == moves
    losses = [-float(text.replace("−", "-")) for text in
              page.locator("#review-table .badge").all_inner_texts()]
    assert losses == sorted(losses, reverse=True)
    total = _percent(page.locator("#review-total").inner_text())
    assert total == pytest.approx(sum(losses) / 100.0, abs=1e-4 * moves)
    assert _fits(page)
    page.locator("#review-table tbody a").first.click()
    page.wait_for_selector("#hand-value")
    assert "/explore/" in page.url and "hand=" in page.url


def test_reload_and_back_go_on_with_the_match(page, url):
  _begin(page, url)
  _click_move(page, _state(page)["legal"][0])
  before = _state(page)
  page.reload()
  page.wait_for_selector(".stage")
  assert _state(page) == before
  page.click("nav a[href='#/explore']")
  page.wait_for_selector("#grid")
  page.go_back()
  page.wait_for_selector(".stage")
  hand = [die.get_attribute("aria-label") for die in
          page.locator(".seat.mine > .dice .die").all()]
  assert [label[0] for label in hand] == [str(face) for face in before["hand"]]


def test_the_keyboard_plays(page, url):
  _begin(page, url, dice=1)
  page.focus("[data-first]")
  page.keyboard.press("ArrowRight")
  name = page.evaluate("document.activeElement.dataset.move")
  assert name in _state(page)["legal"]
  page.keyboard.press("h")
  page.wait_for_selector("#help-panel")
  assert page.evaluate("document.activeElement.dataset.move") == name
  turn = _state(page)["turn"]
  page.keyboard.press("Enter")
  _until_after(page, turn)
  for _ in range(40):
    view = _state(page)
    if view["phase"] == "over":
      break
    if view["phase"] == "reveal":
      page.wait_for_selector("#next")
      page.keyboard.press("n")
    elif "Dudo" in view["legal"]:
      page.wait_for_selector("#dudo")
      page.keyboard.press("d")
    else:
      page.wait_for_selector(".rung:not([disabled])")
      page.focus("[data-first]")
      page.keyboard.press("Enter")
    _until_after(page, view["turn"])
  assert _state(page)["phase"] == "over"


def test_haste_is_no_error(browser, url):
  """A double click, and a move while its help is being computed."""
  # The server may refuse help that comes too late. The browser's log says so,
  # but the page does not.
  context = browser.new_context()
  context.set_default_timeout(_PATIENCE)
  page = context.new_page()
  errors = []
  page.on("pageerror", lambda error: errors.append(str(error)))
  _begin(page, url)
  page.click("#help-button")
  turn = _state(page)["turn"]
  page.dblclick(".stage .rung:not([disabled]) >> nth=0")
  _until_after(page, turn)
  while _state(page)["phase"] == "move":
    turn = _state(page)["turn"]
    page.evaluate("""() => {
      document.getElementById("help-button").click();
      document.getElementById("help-button").click();
      document.getElementById("dudo").click();
    }""")
    _until_after(page, turn)
  assert page.locator("#error").is_hidden()
  context.close()
  assert not errors


def test_odd_addresses(page, url):
  for address in ("#/constructor", "#/play/%E0%A4%A", "#none"):
    page.goto("about:blank")
    page.goto(f"{url}{address}")
    page.wait_for_selector("form button[type=submit]")
  # The link for keyboards goes to the content, and not to another view.
  page.goto(f"{url}#/rounds")
  page.wait_for_selector("#rounds")
  page.locator(".skip").focus()
  page.keyboard.press("Enter")
  assert page.evaluate("document.activeElement.id") == "main"
  assert page.url.endswith("#/rounds") and page.locator("#rounds").count() == 1


def test_a_match_that_the_server_forgot(browser, url):
  context = browser.new_context()
  context.set_default_timeout(_PATIENCE)
  page = context.new_page()
  _begin(page, url)
  context.clear_cookies()
  page.click(".stage .rung:not([disabled]) >> nth=0")
  page.wait_for_selector(".welcome form")
  assert "there is none" in page.locator("#error").inner_text()
  context.close()


def test_explorer(page, url):
  policy = policy_bots.load_policy()
  claims = [policy.rules.claim_order(6).parse(name) for name in ("1x6", "2x3")]
  page.goto(f"{url}#/explore/3v3/1x6")
  page.wait_for_selector("#grid")
  page.click(".next [data-move='2x3']")
  page.wait_for_url(re.compile("3v3/1x6.2x3"))
  page.wait_for_selector("tr[data-hand='125']")
  page.wait_for_selector("td.cell[data-action='1x1']", state="detached")
  grid = policy.after_claims((3, 3), claims)
  hand = policy.rules.rolls(3).index([1, 2, 5])
  names = [*policy.rules.claim_order(6).names[claims[-1] + 1:], "Dudo"]
  shown = page.locator("tr[data-hand='125'] td.cell").all()
  for cell in shown:
    share = grid[names.index(cell.get_attribute("data-action")), hand]
    assert (cell.inner_text() or "0") == str(int(100 * share + 0.5))
  page.click("button[data-hand='125']")
  page.wait_for_selector("#hand-value")
  exact = exploitability.action_values(policy, (3, 3), claims, b"\1\2\5")
  row = page.locator("#hand-panel #help-table tbody tr").first
  assert row.get_attribute("data-move") == exact.names[
      int(exact.values.argmax())]
  assert _percent(row.locator(".value").inner_text()) == pytest.approx(
      exact.values.max(), abs=6e-5)
  belief = exploitability.posterior(policy, (3, 3), claims)
  other = exploitability.posterior(policy, (3, 3), claims[:1])
  assert _percent(page.locator("#likelihood").inner_text()) == pytest.approx(
      belief.likelihood * other.likelihood, abs=6e-5)
  # A bookmark opens the same position.
  address = page.url
  page.goto("about:blank")
  page.goto(address)
  page.wait_for_selector("#hand-value")
  assert page.locator("tr.chosen").get_attribute("data-hand") == "125"
  page.select_option("#face", "5")
  page.wait_for_selector("#least")
  page.select_option("#least", "2")
  rows = page.locator("#grid tbody tr")
  many = (policy.rules.rolls(3).matches()[:, 4] >= 2).sum()
  _until(page, lambda: rows.count() == many)
  page.check("#group")
  _until(page, lambda: rows.count() == 3)
  assert _fits(page)


_HIDDEN_COLUMNS = """() => [...document.querySelectorAll(".scroller")]
  .map((one) => ({
    box: one.querySelector(".scroll"),
    hint: one.querySelector(".more-hint"),
  })).filter(({ box }) => box.scrollWidth > box.clientWidth + 1)
  .map(({ hint }) => hint.offsetHeight ? hint.textContent : "")"""


def test_tables_show_every_column_or_that_there_is_more(page, url):
  page.goto(f"{url}#/explore/5v5")
  page.wait_for_selector("#grid")
  _until(page, lambda: all(page.evaluate(_HIDDEN_COLUMNS)))
  hints = page.evaluate(_HIDDEN_COLUMNS)
  assert len(hints) == 1  # only the grid does not fit
  assert re.fullmatch(r"\d+ more columns to the right →", hints[0])
  page.evaluate("document.querySelector('#grid').parentElement.scrollLeft=9999")
  _until(page, lambda: page.evaluate(_HIDDEN_COLUMNS) == [
      "All columns to the right are in sight."])
  page.goto(f"{url}#/rounds")
  page.wait_for_selector("#rounds")
  assert page.evaluate(_HIDDEN_COLUMNS) == []


def test_what_is_never_reached_is_faint(page, url):
  page.goto(f"{url}#/explore/3v3/2x6.3x2.4x6.5x6")
  page.wait_for_selector("#grid")
  for row in page.locator("#grid tbody tr").all():
    is_never = row.locator("td").first.inner_text() == "0.0%"
    assert ("never" in (row.get_attribute("class") or "")) == is_never
  assert page.locator("#grid tr.never").count() > 40
  page.goto(f"{url}#/neumann/10")
  page.wait_for_selector(".areas")
  assert page.locator(".veil").count() == page.locator("tr.never").count() > 3
  page.goto(f"{url}#/liar-die/6")
  page.wait_for_selector("#doubts")
  assert page.locator("#doubts td.never").count() > 3  # nobody claims 1


def test_rounds_and_small_games(page, url):
  page.goto(f"{url}#/rounds")
  page.wait_for_selector("#rounds")
  policy = policy_bots.load_policy()
  for (own, other), value in policy.values.items():
    cell = page.locator(f"#rounds [data-round='{own}v{other}'] a")
    assert _percent(cell.inner_text()) == pytest.approx((1.0 + value) / 2.0,
                                                        abs=6e-5)
  assert _fits(page)
  page.goto(f"{url}#/neumann/10")
  page.wait_for_selector(".areas")
  assert float(page.locator("#small-value").inner_text()) == pytest.approx(
      -0.0378947, abs=1e-5)
  assert page.locator(".areas").count() == 6 and _fits(page)
  page.goto(f"{url}#/liar-die/6")
  page.wait_for_selector("#doubts")
  assert float(page.locator("#small-value").inner_text()) == pytest.approx(
      0.366667, abs=1e-5)
  assert _fits(page)


def test_four_players(page, url):
  page.goto(url)
  page.select_option("#game", "single_round")
  assert page.locator("form").inner_text().split("\n")[-1] == "Start"
  assert "null" not in page.locator(".welcome").inner_text()
  page.select_option("#game", "dudo")
  assert page.input_value("#opponent") == "trained"
  page.select_option("#game", "single_round")
  page.click("form button[type=submit]")
  page.wait_for_selector(".stage")
  assert page.locator(".seat").count() == 4 and _fits(page)
  for _ in range(60):
    view = _state(page)
    if view["phase"] == "over":
      break
    legal = view["legal"]
    _click_move(page, "Challenge" if "Challenge" in legal and (
        len(legal) == 1 or view["claims"][-1]["quantity"] > 6) else legal[0])
  page.wait_for_selector("#again")
  assert page.locator(".die.counts").count() == view["reveal"]["count"]


def test_labels_and_contrast(page, url):
  """All controls have names, and text has the contrast of WCAG AA."""
  for address in ("#/play", "#/explore/2v2/1x2?hand=12", "#/rounds"):
    page.goto(f"{url}{address}")
    page.wait_for_selector("main .card")
    if address == "#/play":
      page.click("form button[type=submit]")
      page.click("#help-button")
    page.wait_for_selector("#help-table, #rounds")
    assert page.evaluate(_NAMELESS) == []
    assert page.evaluate(_FAINT) == []


_NAMELESS = """() => [...document.querySelectorAll("button, a, select, input")]
  .filter((one) => !(one.getAttribute("aria-label") || one.innerText.trim() ||
                     one.textContent.trim() || one.labels?.length))
  .map((one) => one.outerHTML.slice(0, 200))"""

# Text against what is behind it, with colours drawn on a canvas so that any
# way to write them is understood.
_FAINT = """() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const pixel = (colours) => {
    pen.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
    }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((x) => x / 255).map((x) =>
      x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3)
      .map((node) => node.data.trim()).join("");
    const box = element.getBoundingClientRect();
    if (!text || box.width < 2 || element.closest("[hidden], :disabled, svg"))
      continue;
    const behind = [];
    for (let one = element; one; one = one.parentElement) {
      behind.unshift(getComputedStyle(one).backgroundColor);
    }
    const style = getComputedStyle(element);
    const back = pixel(behind);
    const front = pixel([...behind, style.color]);
    const [low, high] = [light(back), light(front)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${text.slice(0, 30)}`);
  }
  return faint;
}"""


def test_pictures(browser, url, tmp_path):
  """Draws the pictures of the docs; see docs/page.md for how to keep them."""
  folder = pathlib.Path(os.environ.get("DUDO_PAGE_PICTURES") or tmp_path)
  for name, scheme, height in [("page_play", "light", 920),
                               ("page_explore", "dark", 1200)]:
    context = browser.new_context(viewport={"width": 1240, "height": height},
                                  color_scheme=scheme)
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    if name == "page_play":
      _begin(page, url, dice=3)
      for _ in range(30):
        view = _state(page)
        if view["phase"] == "move" and view["claims"] and (
            view["dice"] == [3, 3]):
          break
        if view["phase"] != "move":
          page.goto("about:blank")
          page.context.clear_cookies()
          _begin(page, url, dice=3)
        else:
          _click_move(page, view["legal"][len(view["claims"])])
      page.click("#help-button")
      page.wait_for_selector("#help-table")
      page.mouse.move(0, 0)
      page.evaluate("document.activeElement.blur()")
    else:
      page.goto(f"{url}#/explore/3v3/1x2.2x3?hand=125")
      page.wait_for_selector("#hand-value")
    path = folder / f"{name}.png"
    page.screenshot(path=path)
    with image.open(path) as picture:
      small = picture.convert("RGB").quantize(128, dither=image.Dither.NONE)
    small.save(path, optimize=True)
    assert 10_000 < path.stat().st_size < 150_000
    context.close()
