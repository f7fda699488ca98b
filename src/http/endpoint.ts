/**
 * One endpoint of the API, and the permission check of every request: `authorize` refuses what the caller's scope
 * (permissions/user-scope.ts) does not allow. No other place has a permission check for endpoints.
 */

import type { AuditSummary } from "../auth/audit-summary.ts";
import { type BasicAuthentication, basicCredentialsIn } from "../auth/basic-authentication.ts";
import { isSameOrigin } from "../auth/host-check.ts";
import { actorOf, type Principal } from "../auth/principal.ts";
import { runAs } from "../lib/current-work.ts";
import { CallerError, forbidden, invalidValue, notFound, UpstreamError } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { DeniedRequestLog } from "../permissions/denied-request-log.ts";
import { assertSuperUser } from "../permissions/privilege-escalation.ts";
import { camelCase } from "../schema/decoder.ts";
import type { AnyResource, Method } from "../schema/resource.ts";
import type { ActorContext } from "../store/store.ts";
import { type Action, ANY_CONTENT_TYPE, type ApiRequest, type PublicAction, type PublicRequest } from "./action.ts";
import { accessTokenInForm, accessTokenOf } from "./bearer-token.ts";
import {
  type BodyParserPlan,
  compileBodyParser,
  decodeBody,
  isUrlEncoded,
  mayHaveFields,
  mediaTypeOf,
  NO_BODY,
  type RawBody,
  readBody,
  unsupportedMediaType,
} from "./body/body.ts";
import { readUpload } from "./body/upload-stream.ts";
import { assertConfirmed } from "./confirmed-changes.ts";
import type { ApiDeps } from "./dependencies.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { isBug, unauthorized } from "./error-response.ts";
import type { IdempotentExecutor } from "./idempotency.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { withCloudProxy } from "./proxy-to-cloud.ts";
import { NO_QUERY, type Query, textParameter } from "./query/query.ts";
import { executeDryRun, isDryRun } from "./rows/dry-run.ts";
import type { PresentationContext, Presenter } from "./rows/presenter.ts";
import type { UntypedRow } from "./rows/representation.ts";
import { canChangeRings, requestsRingDiff, withRingDiff } from "./rows/ring-diff-response.ts";
import type { RowOperation, RowRequest } from "./rows/row-operations.ts";
import { authenticateSession } from "./session-auth.ts";
import { assertNothingIgnored, createIgnoredInputCheck, type IgnoredInputCheck } from "./unknown-parameters.ts";

/** One method of one path. */
export interface Endpoint {
  method: Method;
  /** Path pattern: `v1/users/{userId}`. */
  at: string;
  /** Headers of every response, including errors. */
  headers?: Readonly<Record<string, string>>;
  serve(incoming: IncomingRequest): Promise<HttpResponse>;
}

/** Services shared by all endpoints. */
export interface EndpointServices {
  presenter: Presenter;
  deniedRequests: DeniedRequestLog;
  /** What was read and must be known afterwards. */
  readings: AuditSummary;
  idempotency: IdempotentExecutor;
  /** Log-in by a password in each request; null if the settings forbid it. */
  basic: BasicAuthentication | null;
}

const VERSION = "v1";

/**
 * Creates the endpoint of an action: authentication, acting domain, permission, body, then the action itself. The
 * body is not read before the caller is authorized, except for a token or domain in it.
 */
export function createEndpoint(action: Action | RowOperation, deps: ApiDeps, serving: EndpointServices): Endpoint {
  const plan = action.accepts ? compileBodyParser(action.accepts) : null;
  const parents = parentsIn(action.at);
  const check = createIgnoredInputCheck(action);
  const at = action.outsideVersion ? action.at : `${VERSION}/${action.at}`;
  return {
    method: action.method,
    at,
    ...(action.deprecated ? { headers: deprecationHeaders(action.deprecated) } : {}),
    serve: (incoming) =>
      runAs(`${action.method.toUpperCase()} ${at}`, async () => {
        const base = { ...incoming, ...locate(action, incoming), deps };
        if (action.permission === "open") return servePublic(action, base, plan);
        const known = { action, base, plan, parents, check };
        return serveAuthenticated(known, deps, serving);
      }),
  };
}

async function servePublic(
  action: PublicAction,
  base: RequestBase,
  plan: BodyParserPlan | null,
): Promise<HttpResponse> {
  try {
    const body = await readRequestBody(base, plan, base.deps);
    return await withUploadCleanup(body, base.deps, () =>
      action.handle({
        ...base,
        body: decodeRequestBody(base, body, plan, NO_FIELDS),
        readBytes: () => bytesOf(action.binaryTypes ?? [], base),
      }),
    );
  } catch (error) {
    if (!action.respondToError || isBug(error)) throw error;
    return action.respondToError(error, base);
  }
}

/** Placeholders above the last collection of a path; the body must not contradict these ids. */
function parentsIn(at: string): string[] {
  const above = at.slice(0, at.lastIndexOf("/") + 1);
  return [...above.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
}

type RequestBase = IncomingRequest & Omit<PublicRequest, "body" | "readBytes">;

interface AuthenticatedCall {
  action: Exclude<Action, { permission: "open" }> & Partial<RowOperation>;
  base: RequestBase;
  plan: BodyParserPlan | null;
  parents: readonly string[];
  check: IgnoredInputCheck;
}

async function serveAuthenticated(
  { action, base, plan, parents, check }: AuthenticatedCall,
  deps: ApiDeps,
  { presenter, deniedRequests, idempotency, readings, basic }: EndpointServices,
): Promise<HttpResponse> {
  const known = base.acceptsPassword && basic !== null ? await authenticateByPassword(base, basic, deps) : null;
  const { principal, early } = known ? { principal: known, early: null } : await identifyCaller(base, plan, deps);
  const keeps = !parseDryRun(action, base);
  const ignoredInQuery = check.inQuery(base.query);
  const query = textParameter(base.query, "domain");
  const header = query === null ? base.header("x-service-domain") : null;
  const overruling = early ?? (await readOverridingBody(header, principal, { action, base, plan }, deps));
  let acting: ActorContext | null = null;
  const actorIn = (domain: string | null): ActorContext => {
    acting = createActor(principal, domain, base, deps);
    return acting;
  };
  const serve = async (): Promise<HttpResponse> => {
    const overruled = query === null && overruling ? domainIdIn(overruling) : null;
    const by = actorIn(query ?? overruled ?? header);
    const request = requestOf(action, base, principal, by, presenter);
    if (!action.completeRequest) authorize(action, request);
    const handle = async (body: RawBody): Promise<HttpResponse> => {
      assertSameParents(body, base.params, parents);
      const ignored = [...ignoredInQuery, ...check.inBody(body.value)];
      assertNothingIgnored(ignored, base.query);
      const inBody = query === null && overruled === null ? domainIdIn(body) : null;
      const full = {
        ...request,
        ...(inBody === null ? {} : { by: actorIn(inBody) }),
        body: decodeRequestBody(base, body, plan, action),
      };
      const complete = action.completeRequest ? action.completeRequest(full) : full;
      if (action.completeRequest || inBody !== null) authorize(action, complete);
      if (!parseDryRun(action, base)) {
        const { body: changes, params } = complete;
        const change = { method: base.method, at: action.at, permission: action.permission, principal };
        assertConfirmed({ ...change, body: changes, params }, deps.settings.auth.confirmationMinutes, deps.clock.now());
      }
      const execute = async (given: typeof complete): Promise<HttpResponse> => {
        // Written first: some of these restart the daemon.
        if (action.permission === "super") await recordTrustChange(action, given);
        return action.handle(given);
      };
      const run = (): Promise<HttpResponse> => {
        if (parseDryRun(action, base)) return executeDryRun(complete, execute, canChangeRings(action));
        if (!requestsRingDiff(action, base.query)) return idempotency(complete, execute);
        return idempotency(complete, (given) => withRingDiff(given, execute));
      };
      const response = await withCloudProxy(run, { base, principal, body }, deps.proxyToCloud);
      if (action.auditsReading)
        readings.record({ op: "read", ...auditedReading(action.auditsReading, complete) }, complete.by);
      return check.addWarnings(response, ignored);
    };
    if (overruling) return handle(overruling);
    const body =
      plan || !isBodyless(action, base) ? await readRequestBody(base, plan, deps) : await readUnused(base, deps);
    return withUploadCleanup(body, deps, () => handle(body), keeps);
  };
  try {
    return await (overruling ? withUploadCleanup(overruling, deps, serve, keeps) : serve());
  } catch (error) {
    const refused = error instanceof CallerError && error.type === "forbidden";
    if (acting && refused) deniedRequests.record(acting, { method: base.method, at: action.at, path: base.path });
    throw error;
  }
}

/**
 * The body, if the action is not allowed in the domain known so far: a domain in the body may override it. Otherwise
 * null.
 */
async function readOverridingBody(
  domain: string | null,
  principal: Principal,
  { action, base, plan }: Pick<AuthenticatedCall, "action" | "base" | "plan">,
  deps: ApiDeps,
): Promise<RawBody | null> {
  if (base.method === "get" || textParameter(base.query, "domain") !== null) return null;
  try {
    const { scope } = createActor(principal, domain, base, deps);
    const judged = action.permission !== "anyone" && !action.completeRequest;
    if (!judged || scope.allows(base.method, base.path)) return null;
  } catch {
    // Denied, unless the body specifies another domain.
  }
  return readRequestBody(base, plan, deps);
}

/** Throws invalid-value if dryRun is not supported, so that the write is not executed for real. */
function parseDryRun({ method, supportsDryRun }: AuthenticatedCall["action"], { query }: RequestBase): boolean {
  if (method === "get" || !isDryRun(query)) return false;
  if (!supportsDryRun) throw invalidValue("dryRun", sentence("field.dryrun-is-not-supported-for-this-operation"));
  return true;
}

/** Keeps uploaded files if `run` succeeds and `keeps` is true, or if the outcome of the write is unknown. */
async function withUploadCleanup(
  body: RawBody,
  { store }: ApiDeps,
  run: () => Promise<HttpResponse>,
  keeps = true,
): Promise<HttpResponse> {
  let kept = false;
  try {
    const response = await run();
    kept = keeps;
    return response;
  } catch (error) {
    kept = error instanceof UpstreamError && error.type === "outcome-unknown";
    throw error;
  } finally {
    for (const upload of body.uploads) store.files.release(upload, kept);
  }
}

/**
 * The user of a request with HTTP Basic credentials; null for another scheme. Browsers send such credentials by themselves, so
 * that requests of pages must come from the appliance or an allowed origin. Throws unauthorized, TooManyRequestsError.
 */
async function authenticateByPassword(
  { header, secure, address }: RequestBase,
  basic: BasicAuthentication,
  { settings }: ApiDeps,
): Promise<Principal | null> {
  const credentials = basicCredentialsIn(header("authorization"));
  if (credentials === null) return null;
  const origin = header("origin");
  const isTrusted =
    origin === null || isSameOrigin(origin, header("host"), secure) || settings.api.origins.includes(origin);
  const principal = isTrusted ? await basic.authenticate(credentials, address) : null;
  if (!principal) throw unauthorized();
  return principal;
}

/**
 * Authenticates the token or the session cookie; the body is read early if it may contain the token. Throws
 * unauthorized.
 */
async function identifyCaller(
  base: RequestBase,
  plan: BodyParserPlan | null,
  deps: ApiDeps,
): Promise<{ principal: Principal; early: RawBody | null }> {
  let token = accessTokenOf(base.header("authorization"), base.query);
  const byCookie = token === null ? authenticateSession(base, deps.access) : null;
  if (byCookie) return { principal: byCookie, early: null };
  let early: RawBody | null = null;
  if (base.method !== "get" && isUrlEncoded(base.raw)) {
    early = await readBody(base.raw, plan ?? compileBodyParser({}), { clock: deps.clock, files: deps.store.files });
    token = accessTokenInForm(early.value as Record<string, unknown>, token);
  }
  const principal = token === null ? null : deps.access.authenticate(token, "bearer", true, base.address);
  if (!principal) throw unauthorized();
  return { principal, early };
}

function createActor(
  principal: Principal,
  domain: string | null,
  { address }: RequestBase,
  { access }: ApiDeps,
): ActorContext {
  return { actor: actorOf(principal, address), scope: access.resolveScope(principal, domain) };
}

function authorize(action: Partial<RowOperation>, request: ApiRequest): void {
  if (action.permission === "anyone") return;
  const { scope } = request.by;
  const path = action.permissionPath ? action.permissionPath(request.path) : request.path;
  if (!scope.allows(request.method, path))
    throw action.isVisible && !action.isVisible(request, scope) ? notFound() : forbidden();
  if (action.permission === "super") assertSuperUser(request.by);
}

function auditedReading(
  resource: string,
  { path, query }: Pick<ApiRequest, "path" | "query">,
): { resource: string; rowId: null; what: string } {
  const format = textParameter(query, "format");
  return { resource, rowId: null, what: format === null ? path : `${path} as ${format.slice(0, 20)}` };
}

/** @source docs/decisions/0401-permission-rules.md, Trust */
async function recordTrustChange(
  { method, at }: Pick<Action, "method" | "at">,
  { deps, by }: ApiRequest,
): Promise<void> {
  const [resource = at] = at.split("/");
  const details = { request: `${method.toUpperCase()} /${at}` };
  await deps.store.write((tx) => tx.addAuditEvent({ op: "trust-change", resource, rowId: null, details }, by));
}

async function readRequestBody(base: RequestBase, plan: BodyParserPlan | null, deps: ApiDeps): Promise<RawBody> {
  if (!plan || base.method === "get") return NO_BODY;
  return readBody(base.raw, plan, { clock: deps.clock, files: deps.store.files });
}

/** Whether the operation takes no body, so that fields of one have no effect and are named. */
function isBodyless({ binaryTypes }: Pick<Action, "binaryTypes">, { method, raw }: RequestBase): boolean {
  return method !== "get" && binaryTypes === undefined && mayHaveFields(raw);
}

function readUnused({ raw }: RequestBase, { clock, store }: ApiDeps): Promise<RawBody> {
  return readBody(raw, compileBodyParser({}), { clock, files: store.files });
}

/**
 * The fields of the body, and those that are in the query instead, as some clients send them; the body has precedence.
 * With `_method` all of them are in the query.
 */
function decodeRequestBody(
  base: RequestBase,
  body: RawBody,
  plan: BodyParserPlan | null,
  { accepts = {}, query: parameters = {} }: Pick<Action, "accepts" | "query">,
): Record<string, unknown> {
  if (!plan) return {};
  const form = (value: Query) => decodeBody({ ...NO_BODY, kind: "form", value }, plan);
  if (base.overridden) return form(base.query);
  if (base.method === "get" || base.query === NO_QUERY) return decodeBody(body, plan);
  // Secrets stay out of addresses, which proxies log.
  const isField = (name: string): boolean =>
    Object.hasOwn(accepts, name) &&
    accepts[name]?.kind !== "secret" &&
    !Object.hasOwn(parameters, name) &&
    !RESERVED_PARAMETERS.has(name);
  const fields = Object.entries(base.query).filter(([name]) => isField(name));
  const decoded = decodeBody(body, plan);
  return fields.length === 0 ? decoded : { ...form(Object.fromEntries(fields)), ...decoded };
}

/** Log-in and the like take their fields, such as passwords, from the body only. */
const NO_FIELDS = {};
/** Query parameters of every write that could be names of fields. */
const RESERVED_PARAMETERS: ReadonlySet<string> = new Set(["domain", "dryRun", "includeRingDiff"]);

/**
 * Throws invalid-value if the body contains another parent id than the path.
 * @source docs/decisions/0012-extensions-and-endpoints.md
 */
function assertSameParents(
  { value }: RawBody,
  params: Readonly<Record<string, string>>,
  parents: readonly string[],
): void {
  if (typeof value !== "object" || value === null) return;
  for (const [given, id] of Object.entries(value)) {
    const name = camelCase(given);
    if (parents.includes(name) && (typeof id !== "string" || id.toLowerCase() !== params[name])) {
      throw invalidValue(name, sentence("field.must-be-the-id-in-the-path"));
    }
  }
}

function domainIdIn({ value }: RawBody): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return textParameter(value as Record<string, unknown>, "domain");
}

function locate(
  { at, outsideVersion }: Action,
  { path, params: given }: IncomingRequest,
): { path: string; params: Record<string, string> } {
  const params = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.toLowerCase()]));
  return { path: outsideVersion ? `/${at}` : path.slice(VERSION.length), params };
}

function requestOf(
  { at, rowPath, binaryTypes = [] }: Pick<Action, "at" | "rowPath" | "binaryTypes">,
  base: RequestBase,
  principal: Principal,
  by: ActorContext,
  presenter: Presenter,
): RowRequest {
  /**
   * Rows are presented at the path of the action if it is a path of the resource, otherwise at their canonical path.
   */
  const presentationContext = (
    resource: AnyResource,
    ids: Readonly<Record<string, unknown>>,
    request: ApiRequest,
  ): PresentationContext => {
    const path = rowPath ?? resource.paths.find((each) => each.at === at);
    const place = path ? { path, collection: collectionIn(base.path, at, path.at) } : presenter.locate(resource, ids);
    return { by: request.by, query: base.query, params: request.params, place };
  };
  return {
    ...base,
    principal,
    by,
    presenter,
    body: {},
    readBytes: () => bytesOf(binaryTypes, base),
    respondWithRow(resource, row) {
      const shown = row as unknown as UntypedRow;
      return presenter.presentRow(resource, shown, presentationContext(resource, shown, this));
    },
    respondWithList(resource, restriction, visibility) {
      return presenter.presentList(resource, restriction, presentationContext(resource, base.params, this), visibility);
    },
  };
}

function bytesOf(types: readonly string[], { raw, deps }: RequestBase): AsyncIterable<Uint8Array> {
  if (!types.includes(ANY_CONTENT_TYPE) && !types.includes(mediaTypeOf(raw)))
    throw unsupportedMediaType(sentence("request.the-content-type-must-be-types", { types: types.join(" or ") }));
  return readUpload(raw, deps.clock);
}

/** The collection of a request path that may address an item. */
function collectionIn(path: string, at: string, collection: string): string {
  return at === collection ? path : path.slice(0, path.lastIndexOf("/"));
}
