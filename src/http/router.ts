import { Router } from "@koa/router";
import type { DefaultContext, Middleware } from "koa";
import { CallerError, notFound } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Endpoint } from "./endpoint.ts";
import { MethodNotAllowedError } from "./error-response.ts";
import { API_PREFIX, type RequestState, type RoutedContext } from "./incoming-request.ts";

/**
 * Routes requests to endpoints; the response is stored in the context state. The last endpoint with the same method
 * and path wins. OPTIONS returns the supported methods. Throws not-found, or MethodNotAllowedError for other methods.
 * A router tries its patterns one by one, and a single router would cost a fifth of the time of reading a row, so
 * each collection has its own.
 * @source docs/decisions/0027-performance-goals.md
 */
export function createApiRouter(
  endpoints: readonly Endpoint[],
  serve: (endpoint: Endpoint, context: RoutedContext) => Promise<HttpResponse>,
): Middleware<RequestState> {
  const routers = new Map<string, ApiRouter>();
  const byPlace = new Map(endpoints.map((endpoint) => [`${endpoint.method} ${routeShape(endpoint.at)}`, endpoint]));
  // The first match wins.
  for (const endpoint of literalsFirst([...byPlace.values()])) {
    const at = `${API_PREFIX}${endpoint.at}`;
    const router = routers.get(routeBucket(at)) ?? new Router<RequestState, DefaultContext>({ sensitive: true });
    routers.set(routeBucket(at), router);
    router[endpoint.method](at.replace(/\{(\w+)\}/g, ":$1"), async (context) => {
      context.state.at = at;
      context.state.headers = endpoint.headers ?? {};
      context.state.response = await serve(endpoint, context as unknown as RoutedContext);
    });
  }
  const steps = new Map([...routers].map(([name, router]) => [name, router.routes() as Middleware<RequestState>]));
  return async (context) => {
    await steps.get(routeBucket(context.path))?.(context, async () => undefined);
    if (context.routeMatched) return;
    assertServedVersion(context.path);
    const allow = methodsOf(context.matched ?? []);
    if (context.method !== "OPTIONS") throw new MethodNotAllowedError(allow);
    context.state.response = { status: 204, headers: { Allow: allow }, body: null };
  };
}

type ApiRouter = Router<RequestState, DefaultContext>;

/** Maximum number of segments of a pattern. */
const MAX_SEGMENTS = 32;
/** Version segment of a path. */
const VERSION = /^v\d+$/;
const SERVED_VERSION = "v1";

/**
 * Key of the router of a path: the collection (`users` of `/api/v1/users/0190…`, `join` of `/api/join/0190…`,
 * `onprem/bells` of `/api/onprem/v1/bells/0190…`) and the depth.
 */
function routeBucket(path: string): string {
  const segments = path.split("/", MAX_SEGMENTS);
  const [, , first = "", second = "", third = ""] = segments;
  const depth = segments.length - (segments.at(-1) === "" ? 1 : 0);
  if (first === "onprem") return `${first}/${third} ${depth}`;
  return `${VERSION.test(first) ? second : first} ${depth}`;
}

/** Throws not-found with the requested API version if that version is not supported. */
function assertServedVersion(path: string): void {
  const [, , first = "", second = ""] = path.split("/", 4);
  const version = first === "onprem" ? second : first;
  if (!VERSION.test(version) || version === SERVED_VERSION) return;
  throw new CallerError(
    "not-found",
    sentence("request.api-version-version-is-not-supported-use-served", { version, served: SERVED_VERSION }),
  );
}

/** Methods of the matched patterns. Throws not-found without a match. */
function methodsOf(layers: readonly { methods: string[] }[]): string {
  if (layers.length === 0) throw notFound();
  return [...new Set([...layers.flatMap((layer) => layer.methods), "OPTIONS"])].sort().join(", ");
}

/** A pattern without placeholder names: `v1/users/{}`. */
export function routeShape(at: string): string {
  return at.replace(/\{\w+\}/g, "{}");
}

/** Literal segments take precedence over placeholders. */
function literalsFirst(endpoints: readonly Endpoint[]): Endpoint[] {
  // Computed once per endpoint, because about a thousand are sorted at start.
  const kinds = ({ at }: Endpoint): string => at.replace(/[^/]+/g, (segment) => (segment.startsWith("{") ? "1" : "0"));
  const placed = endpoints.map((endpoint) => ({ endpoint, place: kinds(endpoint) }));
  placed.sort(({ place: a }, { place: b }) => (a < b ? -1 : a > b ? 1 : 0));
  return placed.map(({ endpoint }) => endpoint);
}
