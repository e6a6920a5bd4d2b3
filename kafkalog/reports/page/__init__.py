"""An audit as one page of HTML: it opens without a network, and can be read and printed without its script."""

from __future__ import annotations

from kafkalog.reports.page.first_view import Night
from kafkalog.reports.page.page import page
from kafkalog.reports.page.space_page import SpaceReport, space_page

__all__ = ["Night", "SpaceReport", "page", "space_page"]
