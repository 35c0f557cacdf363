"""Pages of the site that lie beside `docs/`: README, CHANGELOG and CONTRIBUTING.

A hook of mkdocs (mkdocs.yml). Their links are written from the repository's root, where those who
read the files follow them; on the site all pages lie in one folder.
"""

from __future__ import annotations

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
    for source, target in PAGES.items():
        markdown = markdown.replace(f"](../{source})", f"]({target})")
    return markdown
