import type { RequestListener } from "node:http";
import inject from "light-my-request";
import type { AccessControl } from "../auth/principal.ts";
import type { HubControlHandlerDeps } from "../cloud-link/hub-control-handler.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { SITE_WRITABLE_RESOURCES } from "../sync/protocol/site-edit-permissions.ts";

/** What carrying requests of appliances out needs. */
export interface ProxiedRequestDeps {
  access: Pick<AccessControl, "issueTemporaryToken">;
  catalogue: Catalogue;
  /** What the server hands requests to; called once all runs. */
  listener(): RequestListener;
  /** Where the API is reached: what requests are addressed to. */
  url(): string;
}

/** Headers that an appliance hands on; all others are about its own connection. */
const FORWARDED_HEADERS: readonly string[] = [
  ...["content-type", "accept-language", "if-match", "idempotency-key", "x-service-domain"],
];

/** Longest answer that fits into a frame of the link, as base64. own choice */
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;
const BASE = "/api/v1/";
/** Below users, and done by each appliance itself. */
const PASSWORD = "users/{userId}/password";

/**
 * Carries out at the cloud what somebody asked of an appliance and only the cloud may do: with the rights that the user has
 * here, by the very way of a request that comes over the network; the audit names the appliance as where it came from.
 * The answer has `status`, `headers` and `body` (base64). Throws `forbidden` for what an appliance does itself, or nobody
 * asks it for.
 */
export function createProxiedRequestHandler({
  access,
  catalogue,
  listener,
  url,
}: ProxiedRequestDeps): HubControlHandlerDeps["request"] {
  const isCloudOwned = cloudOwnedPaths(catalogue);
  return async (endpoint, { userId, scopes, method, target, headers, body }) => {
    // As it is routed: without dots that lead elsewhere.
    const { pathname, search } = new URL(target, "http://localhost");
    if (!isCloudOwned(method, pathname)) throw new CallerError("forbidden", "No appliance hands that on.");
    const { token, end } = access.issueTemporaryToken(userId, scopes);
    try {
      const handed = Object.fromEntries(
        FORWARDED_HEADERS.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : [])),
      );
      const answer = await inject(listener(), {
        method: method as "POST",
        url: `${pathname}${search}`,
        remoteAddress: `endpoint:${endpoint}`,
        headers: { ...handed, host: new URL(url()).host, authorization: `Bearer ${token}` },
        payload: Buffer.from(body, "base64"),
      });
      if (answer.rawPayload.length > MAX_RESPONSE_BYTES) throw new UpstreamError("upstream", "The answer is too long.");
      const shown = Object.fromEntries(
        Object.entries(answer.headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
      );
      return { status: answer.statusCode, headers: shown, body: answer.rawPayload.toString("base64") };
    } finally {
      end();
    }
  };
}

/**
 * Tells whether a path is one by which rows change that only the cloud changes. own choice: those of class A but what acts
 * at once at the appliance, and the deletion of what such rows go with.
 */
function cloudOwnedPaths(catalogue: Catalogue): (method: string, path: string) => boolean {
  const owned = catalogue.all.filter(({ name, replicate }) => replicate === "A" && !SITE_WRITABLE_RESOURCES.has(name));
  const holders = owned.flatMap(({ fields }) =>
    Object.values(fields).flatMap((field) =>
      field.kind === "ref" && field.onDelete === "cascade" && catalogue.has(field.to)
        ? [catalogue.byName(field.to)]
        : [],
    ),
  );
  const first = (at: string): string => at.split("/")[0] as string;
  const firsts = (of: readonly AnyResource[]) => new Set(of.flatMap(({ paths }) => paths.map(({ at }) => first(at))));
  const [changed, deleted] = [firsts(owned), firsts(holders)];
  const kept = [...SITE_WRITABLE_RESOURCES].flatMap((name) => catalogue.byName(name).paths.map(({ at }) => at));
  const isKept = [PASSWORD, ...kept].map((at) => new RegExp(`^${at.replaceAll(/\{\w+\}/g, "[^/]+")}(/|$)`, "i"));
  return (method, path) => {
    const at = path.startsWith(BASE) ? path.slice(BASE.length) : "";
    if (isKept.some((pattern) => pattern.test(at))) return false;
    return changed.has(first(at)) || (method === "DELETE" && deleted.has(first(at)));
  };
}
