"""A page rendered by a real browser."""

import os
import subprocess
from pathlib import Path

import numpy as np
from PIL import Image
from support.tools import chromium


def drawn(page: Path, folder: Path, *, dark: bool) -> None:
    """Render a page without network: it must show something, in the theme's colours, and log nothing."""
    picture = folder / "page.png"
    command = [
        chromium(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=700,900",
        f"--user-data-dir={folder / 'profile'}",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        "--v=0",
        f"--screenshot={picture}",
        page.as_uri(),
    ]
    if dark:
        command.insert(1, "--blink-settings=preferredColorScheme=0")
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    image = np.asarray(Image.open(picture).convert("RGB"))
    assert image.shape[:2] == (900, 700)
    corner = image[5, 5].astype(int).sum()
    assert corner < 150 if dark else corner > 700  # the theme's background
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 20  # and some content
