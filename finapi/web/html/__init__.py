"""The frame of every page: HTML from values, head and foot, the stylesheet and scripts, how figures are written."""
