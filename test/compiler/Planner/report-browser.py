#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report-browser.py PAGE PICTURE: shows a page at 390 and 1200 px in headless chromium, where there is one, and fails
where it scrolls sideways, has a text outside, or says nothing of what is pointed at. Leaves a picture of the first."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The browser has a least window width; a frame has none. Sections of a phone are looked at through one.
FRAME = """<!DOCTYPE html><html><body style="margin:0"><iframe src="{page}" style="width:{width}px;height:{height}px;border:0">
</iframe><script>
onload = () => {{
  const page = document.querySelector('iframe').contentDocument, root = page.documentElement;
  const out = [...page.querySelectorAll('body *')].filter(e => e.getClientRects().length
      && e.getBoundingClientRect().right > {width} + 1 && !e.closest('defs') && !e.closest('clipPath'));
  const rect = page.querySelector('#arena rect'), line = page.querySelector('#arena .readout');
  rect.dispatchEvent(new page.defaultView.PointerEvent('pointerover', {{bubbles: true}}));
  document.title = ['RESULT', root.scrollWidth, out.length, line.textContent == rect.textContent].join(' ');
}};</script></body></html>"""


def browse(browser, page, width, *more):
    with tempfile.TemporaryDirectory() as folder:
        frame = pathlib.Path(folder) / "frame.html"
        frame.write_text(FRAME.format(page=page.resolve().as_uri(), width=width, height=4200))
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                   f"--user-data-dir={folder}/profile", f"--window-size={max(width, 500)},4200", "--hide-scrollbars"]
        return subprocess.run(command + [*more, frame.as_uri()], capture_output=True, text=True, timeout=120).stdout


def main():
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    page, picture = map(pathlib.Path, sys.argv[1:])
    if not browser:
        print("no browser")
        return
    for width in (390, 1200):
        dom = browse(browser, page, width, "--dump-dom")
        found = re.search(r"RESULT (\d+) (\d+) (true|false)", dom)
        if not found:
            sys.exit(f"the page did not load at {width} px")
        if int(found[1]) > width or int(found[2]) or found[3] != "true":
            sys.exit(f"at {width} px: {found[1]} px wide, {found[2]} elements outside, readout {found[3]}")
    browse(browser, page, 390, f"--screenshot={picture}")
    print("looks right")


if __name__ == "__main__":
    main()
