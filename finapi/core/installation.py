"""The kind of this installation: the complete finapi, or only the client that a server hands out."""

from finapi.core.files import get_package_folder

# False where finapi was installed from the wheel of a server's /sdk (finapi/web/html/client_wheel.py).
HAS_SERVER = (get_package_folder("finapi") / "server.py").is_file()
