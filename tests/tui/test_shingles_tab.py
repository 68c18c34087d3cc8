from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import mmh3
import pytest

from neardup_tui.screen import NeardupApp
from neardup_tui.tabs import shingles as shingles_tab
from tui.driving import loaded, until
from tui.screens import plain, text

MakeApp = Callable[..., NeardupApp]

TEXT = "Thé Quick-Brown  fox; thé quick brown fox"


@pytest.fixture
def app(real_app: MakeApp, tmp_path: Path) -> NeardupApp:
    (tmp_path / "notes.txt").write_text(f"{TEXT}\nab\n\n")
    return real_app("notes.txt")


async def shown(pilot, words: str) -> str:
    await until(pilot, lambda: words in text(pilot.app))
    return text(pilot.app)


async def test_a_document_is_shown_before_and_after_with_its_shingles(app: NeardupApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await pilot.press("2")
        screen = await shown(pilot, "Shingles of row 0")
        after = " ".join(TEXT.lower().split())
        grams = [after[at:at + 5] for at in range(len(after) - 4)]
        assert f"{len(set(grams))} different of {len(grams)}" in screen
        for at in range(3):
            number = mmh3.mmh3_x64_128_utupledigest(grams[at].encode())[0]
            line = next(line for line in plain(app) if f"'{grams[at]}'" in line)
            assert line.strip("› █│").split()[-2:] == [f"{number:016x}", str(Counter(grams)[grams[at]])]


async def test_in_the_smallest_terminal_settings_and_list_have_the_room_and_z_shows_the_texts(app: NeardupApp):
    async with app.run_test(size=(60, 16)) as pilot:
        await loaded(pilot)
        await pilot.press("2")
        await shown(pilot, "'thé q'")
        assert "'hé qu'" in text(app) and "‹ 5 ›" in text(app) and "─ after" not in text(app)
        await pilot.press(*"jjjjj")
        assert "▸ fold accents" in await shown(pilot, "fold accents")
        await pilot.press("z")
        assert "Quick-Brown" in await shown(pilot, "─ after")
        await pilot.press("z")
        await shown(pilot, "'thé q'")
        await pilot.press("tab")
        await until(pilot, lambda: app.focused is not None)


async def test_before_and_after_scroll_together(real_app: MakeApp, tmp_path: Path):
    (tmp_path / "long.txt").write_text(" ".join(f"Word{number}" for number in range(900)))
    app = real_app("long.txt")
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("2")
        await shown(pilot, "Word0")
        await pilot.press("tab", "pagedown", "pagedown", "j")
        await until(pilot, lambda: "Word0 " not in text(app) and "word0 " not in text(app))
        before, after = app.screen.tab.query("Page")
        assert before.scroll_y == after.scroll_y > 0


async def test_steps_of_a_setting_follow_at_once_and_keep_the_document(app: NeardupApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await pilot.press("2")
        await shown(pilot, "'thé q'")
        await pilot.press("j", "j", "h", "h")
        await shown(pilot, "'thé'")
        assert app.session.settings.shingling.k == 3 and "‹ row 0 ›" in text(app)


async def test_switches_change_what_is_compared(app: NeardupApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await pilot.press("2", *"jjjjj", "space")  # fold accents
        await shown(pilot, "the quick-brown fox; the quick")
        await pilot.press("j", "space")  # lower case
        await shown(pilot, "The Quick-Brown fox; the quick")
        await pilot.press("j", "space")  # drop punctuation
        await shown(pilot, "The Quick Brown fox the quick")
        assert app.session.settings.normalising.fold_accents and app.session.settings.normalising.drop_punctuation
        await pilot.press("u", "u", "u")
        await shown(pilot, "thé quick-brown fox; thé quick")


async def test_words_can_be_compared_instead(app: NeardupApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await pilot.press("2", "j", "l", "j", "enter", "backspace", "3", "enter")
        await shown(pilot, "'thé quick-brown fox;'")
        assert str(app.session.settings.shingling) == "word:3"


async def test_a_length_that_cannot_be_is_refused_where_it_was_typed(app: NeardupApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await pilot.press("2", "j", "j", "enter", "backspace", "0", "enter")
        await shown(pilot, "out of range")
        await pilot.press("escape")
        assert app.session.settings.shingling.k == 5


async def test_a_short_text_is_one_shingle_and_an_empty_one_has_none(app: NeardupApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await pilot.press("2", "l")
        assert "all of it is one" in await shown(pilot, "Shingles of row 1")
        await pilot.press("l")
        assert "always kept" in await shown(pilot, "Shingles of row 2")
        await pilot.press("l")  # there is no row 3
        await pilot.pause()
        assert "‹ row 2 ›" in text(app)


async def test_an_endless_document_is_cut_up_in_part_and_says_so(
    real_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shingles_tab, "MOST", 100)
    (tmp_path / "long.txt").write_text("lorem ipsum " * 50)
    async with real_app("long.txt").run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await pilot.press("2")
        assert "first 100 characters" in await shown(pilot, "Shingles of row 0")


async def test_help_says_what_the_focused_setting_means(app: NeardupApp):
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        await pilot.press("2", "j", "j", "question_mark")
        assert "How many characters or words make one shingle" in await shown(pilot, "length k:")
