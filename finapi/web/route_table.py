"""The route table with an operator's settings applied, its router, and a cache of parsed parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from finapi.app import App
from finapi.web.http.route import CALLER_ZONES, Route
from finapi.web.router import Match, Router
from finapi.web.routes import ROUTES, apply_costs
from finapi.web.validation import ParameterCache


class RouteTable:
    """The routes, with the costs and default windows that an operator has configured."""

    def __init__(self, routes: Sequence[Route], costs: tuple[tuple[str, int], ...], default_windows: str) -> None:
        routes = apply_costs(routes, costs)
        keeps_windows = default_windows != "all"
        apply_windows: Callable[[Route], Route] = _keep_route if keeps_windows else Route.without_default_windows
        self.parameters = ParameterCache()
        self._routes = routes
        self._apply_windows = apply_windows
        self._windowed_routes: list[Route] | None = None
        self._router = Router(routes, apply_windows)
        self._cached_routes = {route.path: route for route in routes if route.has_cache_check}

    def list_routes(self) -> list[Route]:
        """Return the routes with the operator's settings. The first call loads the parameters of all of them."""
        if self._windowed_routes is None:
            self._windowed_routes = [self._apply_windows(route) for route in self._routes]
        return self._windowed_routes

    def match(self, segments: tuple[str, ...]) -> Match | None:
        """Return the routes of a path given as decoded segments, or None if no route has it."""
        return self._router.match(segments)

    def find_cached_route(self, app: App, target: str, *, has_credential: bool) -> Route | None:
        """Return the route of ``GET target`` if its response is in memory and needs no look-up of a credential."""
        route = self._cached_routes.get(target)
        if route is None or route.cache_check is None or not route.cache_check(app):
            return None
        return None if has_credential and route.zone in CALLER_ZONES else route


def _keep_route(route: Route) -> Route:
    return route


@lru_cache(maxsize=8)
def _get_standard_table(costs: tuple[tuple[str, int], ...], default_windows: str) -> RouteTable:
    """Return the table of finapi's own routes, shared by all apps of a process, because it takes long to build."""
    return RouteTable(ROUTES, costs, default_windows)


def get_table(app: App, routes: Sequence[Route]) -> RouteTable:
    """Return the table of these routes with the app's settings."""
    costs, default_windows = app.config.costs, app.config.default_windows
    return (
        _get_standard_table(costs, default_windows) if routes is ROUTES else RouteTable(routes, costs, default_windows)
    )
