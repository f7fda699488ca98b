import type { RequestListener } from "node:http";
import inject from "light-my-request";
import type { AccessControl } from "../auth/principal.ts";
import type { HubLinkCallbacks } from "../cloud-link/hub-link.ts";
import type { LogInProofs } from "../cloud-link/log-in-proofs.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { SITE_WRITABLE_RESOURCES } from "../sync/protocol/site-edit-permissions.ts";

export interface ProxiedRequestDeps {
  access: Pick<AccessControl, "authenticate" | "issueTemporaryToken">;
  proofs: LogInProofs;
  catalogue: Catalogue;
  /** Request listener of the API server. */
  listener: RequestListener;
  /** Base URL of the API, used in the Host header. */
  url: string;
}

/** Headers that an appliance forwards; all others concern its own connection. */
const FORWARDED_HEADERS: readonly string[] = [
  ...["content-type", "accept-language", "if-match", "idempotency-key", "x-service-domain"],
];

/** Longest response, base64-encoded, that fits into one frame of the link. */
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;
const BASE = "/api/v1/";

/**
 * Executes at the cloud a request that an appliance received but only the cloud may execute: with the permissions that the
 * user has at the cloud and that hold in the domains of the appliance, through the normal HTTP stack; the audit log names the
 * appliance as origin. The response has `status`, `headers` and `body` (base64), and a new `proof` for one that was shown.
 * Throws `forbidden` for requests that appliances execute themselves or never proxy, `unauthorized` for a caller who shows
 * neither a token of the cloud nor a proof for this appliance. @source docs/decisions/0491-trust-in-appliances.md
 */
export function createProxiedRequestHandler({
  access,
  proofs,
  catalogue,
  listener,
  url,
}: ProxiedRequestDeps): HubLinkCallbacks["request"] {
  const isCloudOwned = cloudOwnedPaths(catalogue);
  return async ({ endpoint, domainIds }, { credential, method, target, headers, body }) => {
    // The normalized path, as the router sees it: without dot segments.
    const { pathname, search } = new URL(target, "http://localhost");
    if (!isCloudOwned(method, pathname))
      throw new CallerError("forbidden", sentence("error.appliances-must-not-proxy-this-request"));
    if (!credential)
      throw new CallerError(
        "unauthorized",
        sentence("error.the-appliance-must-be-upgraded-to-make-changes-in-the-cloud"),
      );
    const proven = "proof" in credential ? proofs.verify(credential.proof, endpoint) : null;
    const caller = "token" in credential ? access.authenticate(credential.token) : proven;
    if (!caller)
      throw new CallerError(
        "unauthorized",
        sentence("error.the-cloud-does-not-accept-this-log-in-any-more-log-in-again"),
      );
    // Before the request: a password that changes meanwhile ends this proof, too.
    const renewed = proven ? { proof: proofs.issue(proven.userId, endpoint, proven.loggedInAt) } : {};
    const { token, end } = access.issueTemporaryToken(caller, { domainIds });
    try {
      const forwarded = Object.fromEntries(
        FORWARDED_HEADERS.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : [])),
      );
      const response = await inject(listener, {
        method: method as "POST",
        url: `${pathname}${search}`,
        remoteAddress: `endpoint:${endpoint}`,
        headers: { ...forwarded, host: new URL(url).host, authorization: `Bearer ${token}` },
        payload: Buffer.from(body, "base64"),
      });
      if (response.rawPayload.length > MAX_RESPONSE_BYTES)
        throw new UpstreamError("upstream", sentence("error.the-response-is-too-large"));
      const responseHeaders = Object.fromEntries(
        Object.entries(response.headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
      );
      const answer = response.rawPayload.toString("base64");
      return { status: response.statusCode, headers: responseHeaders, body: answer, ...renewed };
    } finally {
      end();
    }
  };
}

/**
 * True for requests that change cloud-owned rows: resources of class A, except those that take effect at the appliance at once,
 * and deletions that cascade to such rows. @source docs/decisions/0040-replication.md
 */
function cloudOwnedPaths(catalogue: Catalogue): (method: string, path: string) => boolean {
  const owned = catalogue.all.filter(({ name, replicate }) => replicate === "A" && !SITE_WRITABLE_RESOURCES.has(name));
  const parents = owned.flatMap(({ fields }) =>
    Object.values(fields).flatMap((field) =>
      field.kind === "ref" && field.onDelete === "cascade" && catalogue.has(field.to)
        ? [catalogue.byName(field.to)]
        : [],
    ),
  );
  const first = (path: string): string => path.split("/")[0] as string;
  const firsts = (of: readonly AnyResource[]) => new Set(of.flatMap(({ paths }) => paths.map(({ at }) => first(at))));
  const [changed, deleted] = [firsts(owned), firsts(parents)];
  const localPaths = [...SITE_WRITABLE_RESOURCES].flatMap((name) => catalogue.byName(name).paths.map(({ at }) => at));
  const localPatterns = localPaths.map((at) => new RegExp(`^${at.replaceAll(/\{\w+\}/g, "[^/]+")}(/|$)`, "i"));
  return (method, path) => {
    const at = path.startsWith(BASE) ? path.slice(BASE.length) : "";
    if (localPatterns.some((pattern) => pattern.test(at))) return false;
    return changed.has(first(at)) || (method === "DELETE" && deleted.has(first(at)));
  };
}
