"""A page rendered by a real browser."""

import html
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from support.tools import chromium


def drawn(page: Path, folder: Path, *, dark: bool) -> None:
    """Render a page without network: it must show something, in the theme's colours, and log nothing."""
    picture = folder / "page.png"
    options = ["--hide-scrollbars", "--window-size=700,900", f"--screenshot={picture}"]
    if dark:
        options.append("--blink-settings=preferredColorScheme=0")
    done = _opened(page, folder, options)
    assert "CONSOLE" not in done.stderr
    image = np.asarray(Image.open(picture).convert("RGB"))
    assert image.shape[:2] == (900, 700)
    corner = image[5, 5].astype(int).sum()
    assert corner < 150 if dark else corner > 700  # the theme's background
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 20  # and some content


def found(script: str, folder: Path) -> Any:
    """What a page with this HTML writes as JSON to its element `found`. It may read files in frames."""
    page = folder / "page.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><p id="found"></p>{script}', encoding="utf-8")
    options = ["--dump-dom", "--allow-file-access-from-files"]
    done = _opened(page, folder, options)
    written = re.search(r'<p id="found">(.+?)</p>', done.stdout, flags=re.DOTALL)
    assert written, done.stderr
    return json.loads(html.unescape(written[1]))


def _opened(page: Path, folder: Path, options: list[str]) -> subprocess.CompletedProcess[str]:
    command = [
        chromium(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        "--v=0",
        *options,
        page.as_uri(),
    ]
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done
