"""The colours. All are variables of the theme, so that a terminal's own colours can rule instead.

Two carry meaning in the plots: `$fp`, candidates below the threshold, and `$fn`, pairs above it that are missed.
"""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="neardup",
    dark=True,
    background="#101418",
    surface="#101418",
    panel="#1b2129",
    foreground="#d8dee6",
    primary="#5fafd7",
    secondary="#87afaf",
    accent="#ffaf5f",
    success="#87af5f",
    warning="#e5c07b",
    error="#ff8787",
    variables={
        "rule": "#4a5560",
        "dim": "#8a96a3",
        "fp": "#7a4a2a",
        "fn": "#5a2a5a",
        "block-cursor-background": "#5fafd7",
        "input-cursor-background": "#d8dee6",
        "input-selection-background": "#2b4a63",
    },
)

# What a theme without these variables (the terminal's own colours) gets instead.
VARIABLES = {"rule": "ansi_bright_black", "dim": "ansi_bright_black", "fp": "ansi_yellow", "fn": "ansi_magenta"}
