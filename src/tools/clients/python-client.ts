import type { OpenApiDocument } from "../../http/openapi/document.ts";
import { type ApiOperation, apiOperations } from "./api-operations.ts";

const HEAD = `"""Client of the Carillon API, generated from its OpenAPI description. Python 3.9 or later, no other packages.

    from carillon_client import CarillonClient

    carillon = CarillonClient("https://carillon.example.org", token="...")
    ring_lists = carillon.list_ring_lists(name="Monday")["data"]
    for user in carillon.pages(carillon.list_users, type="regular"):
        print(user["name"])
    carillon.create_notifications({"subject": "Fire drill", "userIds": [user["id"]]})

Methods are named after the operations of the description: ids of the path come first, then the body, then query
parameters by name. A dict is sent as JSON, bytes as they are. Errors raise ApiError.

Programs that run for long use an application instead of a token; its tokens are renewed when they expire:

    carillon = CarillonClient(url, credentials=(client_id, client_secret, provider_id))
"""

import json
import time
import urllib.error
import urllib.parse
import urllib.request


class ApiError(Exception):
    """A refused request: \`status\`, \`type\`, \`message\` and the faulty fields in \`errors\`."""

    def __init__(self, status, body):
        self.status = status
        self.type = body.get("type")
        self.message = body.get("message")
        self.errors = body.get("errors", [])
        super().__init__("%s %s: %s" % (status, self.type, self.message))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token must not go to another address."""

    def redirect_request(self, *args):
        return None


class CarillonClient:
    """Calls the API of one server as one user."""

    def __init__(self, url, token=None, timeout=30, context=None, credentials=None):
        """\`url\` is the address of the server, with or without \`/api\`; \`context\` is an ssl.SSLContext;
        \`credentials\` are the id and the secret of an application and the id of the identity provider."""
        self.base = url.rstrip("/")
        if not self.base.endswith("/api"):
            self.base += "/api"
        self.token = token
        self.timeout = timeout
        self.credentials = credentials
        self._renew_at = 0
        self._opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))

    def request(self, method, path, body=None, query=None, content_type=None):
        """Sends one request; \`path\` starts with \`/v1\`. Returns parsed JSON, or bytes of another content type."""
        address = self.base + path
        pairs = [pair for name, value in (query or {}).items() for pair in _pairs(name, value)]
        if pairs:
            address += "?" + urllib.parse.urlencode(pairs)
        headers = {"Accept": "application/json"}
        data = None
        if isinstance(body, (bytes, bytearray)):
            data = bytes(body)
            headers["Content-Type"] = content_type or "application/octet-stream"
        elif body is not None:
            data = json.dumps(body).encode("utf-8")
            headers["Content-Type"] = "application/json"
        if self.credentials and time.monotonic() >= self._renew_at:
            self.renew()
        try:
            return self._send(method, address, data, headers)
        except ApiError as error:
            # The token was revoked, or the clock of the server is ahead.
            if error.status != 401 or not self.credentials:
                raise
        self.renew()
        return self._send(method, address, data, headers)

    def renew(self):
        """Gets a new token of the application."""
        client_id, client_secret, provider_id = self.credentials
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
        form["audience"] = provider_id
        self.token = None
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        data = urllib.parse.urlencode(form).encode("ascii")
        answer = self._send("POST", self.base + "/token", data, headers)
        self.token = answer["access_token"]
        self._renew_at = time.monotonic() + max(0, answer["expires_in"] - 30)

    def _send(self, method, address, data, headers):
        if self.token:
            headers = dict(headers, Authorization="Bearer " + self.token)
        request = urllib.request.Request(address, data=data, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                return _parsed(response.read(), response.headers)
        except urllib.error.HTTPError as error:
            with error:
                parsed = _parsed(error.read(), error.headers)
            raise ApiError(error.code, parsed if isinstance(parsed, dict) else {}) from None

    def pages(self, method, *ids, **query):
        """Yields all rows of a list, page by page."""
        while True:
            page = method(*ids, **query)
            yield from page["data"]
            if page["next"] is None:
                return
            query["start"] = page["next"]
`;

const TAIL = `

def _pairs(name, value):
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [(name + "[]", _text(each)) for each in value]
    return [(name, _text(value))]


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, dict) else str(value)


def _parsed(data, headers):
    if headers.get_content_type() == "application/json" and data:
        return json.loads(data.decode("utf-8"))
    return data


def _id(value):
    return urllib.parse.quote(str(value), safe="")
`;

/** A Python module with one method per operation. */
export function writePythonClient(document: OpenApiDocument): string {
  return `${HEAD}${apiOperations(document).map(methodOf).join("")}${TAIL}`;
}

function methodOf({ id, method, path, pathNames, summary, contentTypes }: ApiOperation): string {
  const ids = pathNames.map(snakeCase);
  const body = method === "get" ? [] : ["body=None"];
  const binary =
    contentTypes.length > 0 && !contentTypes.some((type) => type.includes("json") || type.includes("form"));
  const kind = binary ? [`content_type=${JSON.stringify(concreteType(contentTypes[0] ?? ""))}`] : [];
  const filled = pathNames.reduce((text, name) => text.replace(`{${name}}`, `" + _id(${snakeCase(name)}) + "`), path);
  const target = `"${filled}"`.replace(/ \+ ""$/, "");
  const passed = [
    `"${method.toUpperCase()}"`,
    target,
    ...(method === "get" ? ["None"] : ["body"]),
    "query",
    ...(binary ? ["content_type"] : []),
  ];
  return `
    def ${snakeCase(id)}(${["self", ...ids, ...body, ...kind, "**query"].join(", ")}):
        """${summary.replaceAll("\\", "\\\\").replaceAll('"""', "'''").replace(/"$/, "'")}"""
        return self.request(${passed.join(", ")})
`;
}

/** A type that a client can send. */
function concreteType(type: string): string {
  return type.includes("*") ? "application/octet-stream" : type;
}

/** `getUsersById` is get_users_by_id. */
function snakeCase(name: string): string {
  return name.replace(
    /[A-Z]+(?=[A-Z][a-z]|$)|[A-Z]/g,
    (letters, at: number) => `${at > 0 ? "_" : ""}${letters.toLowerCase()}`,
  );
}
