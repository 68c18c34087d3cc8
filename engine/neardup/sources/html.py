"""The text that a reader of an HTML page sees: its title and its body."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


# What browsers do not show of a page that runs scripts: the user-agent style sheet of the HTML standard
# (https://html.spec.whatwg.org/#hidden-elements), and elements whose content is a fallback.
_UNSEEN = _tags("""
    area audio base basefont canvas datalist head iframe link meta noembed noframes noscript object param rp script
    style template title video
""")
# Elements that stand inside a line; any other parts the words before it, inside it and behind it.
_INLINE = _tags("""
    a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp slot small span
    strike strong sub sup time tt u var wbr
""")
_NOT_SHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)


def text_of(html: str) -> str:
    """Title and body, without scripts, styles, templates, comments and hidden elements; line ends part the blocks."""
    tree = LexborHTMLParser(html)
    parts: list[str] = []
    if (title := tree.css_first("head > title")) is not None:
        parts += [title.text(), "\n"]
    if tree.body is not None:
        _collect(tree.body, parts)
    return "".join(parts).strip()


def _collect(body: LexborNode, parts: list[str]) -> None:
    """Depth first with a stack of its own: pages nest deeper than Python's calls may."""
    stack: list[LexborNode | str] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.is_text_node:
            parts.append(node.text_content or "")
        elif node.is_element_node and not _hidden(node):
            between = "" if node.tag in _INLINE else "\n"
            parts.append(between)
            stack.append(between)
            child = node.last_child
            while child is not None:
                stack.append(child)
                child = child.prev


def _hidden(node: LexborNode) -> bool:
    if node.tag in _UNSEEN:
        return True
    attributes = node.attributes
    return "hidden" in attributes or bool(_NOT_SHOWN.search(attributes.get("style") or ""))
