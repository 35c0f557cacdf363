"""Pages of the site that lie beside `docs/`: README, CHANGELOG and CONTRIBUTING.

A hook of mkdocs (mkdocs.yml). Their links are written from the repository's root, where those who
read the files follow them; on the site all pages lie in one folder.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the pages of the root, with links from the site's folder."""
    for source, target in PAGES.items():
        text = (ROOT / source).read_text().replace("](docs/", "](")
        files.append(File.generated(config, target, content=text))
    return files


def on_page_markdown(
    markdown: str, *, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Links from `docs/` to a page of the root lead to its place on the site."""
    return linked_on_site(markdown, page.file.src_uri)


def linked_on_site(markdown: str, place: str) -> str:
    """The text of the page at `place` below `docs/`, with links to pages of the root as the site
    has these: `../../README.md#a` of `recipes/laptop.md` is `../index.md#a` there."""
    up_to_docs = "../" * place.count("/")
    for source, target in PAGES.items():
        link = re.escape(f"](../{up_to_docs}{source}")
        markdown = re.sub(rf"{link}(?=[#)])", f"]({up_to_docs}{target}", markdown)
    return markdown
