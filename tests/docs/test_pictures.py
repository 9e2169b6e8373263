"""The pictures of README can be made anew."""

from pathlib import Path

from scripts import pictures


def test_each_command_gets_a_picture_of_what_it_prints(tmp_path: Path) -> None:
    """From the run that is part of the docs; nothing in a picture asks another host."""
    pictures.main(tmp_path)
    made = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")}

    assert set(pictures.COMMANDS) == set(made)
    assert all("Linear.forward" in text.replace("&#160;", " ") for text in made.values())
    assert not any("@font-face" in text for text in made.values())
    if pictures.CHROMIUM is not None:
        assert (tmp_path / "flame.png").read_bytes().startswith(b"\x89PNG")
