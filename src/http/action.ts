import type { Principal } from "../auth/principal.ts";
import { notFound } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource, Deprecation, Method, ResourcePath, RowOf } from "../schema/resource.ts";
import type { AccessScope, ActorContext, PageQuery, RowVisibility } from "../store/store.ts";
import type { ApiDeps } from "./dependencies.ts";
import type { ResponseShape } from "./openapi/response-shape.ts";
import type { Query } from "./query/query.ts";

/** A request to an endpoint without authentication. */
export interface PublicRequest {
  readonly method: Method;
  /** Path below /v1 with a leading slash: `/users/0190…/tokens`, regardless of the requested spelling; ids as sent. */
  readonly path: string;
  /** Ids of the path's placeholders by name, in lower case. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters, names in camelCase. */
  readonly query: Query;
  /** Decoded body fields of `accepts` (an uploaded file is an UploadedFile), and `id`; {} without a body. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** Network address of the client. */
  readonly address: string | null;
  /** True when the request came over TLS. */
  readonly secure: boolean;
  readonly deps: ApiDeps;
  /** A request header by its lower-case name; null if absent. */
  header(name: string): string | null;
  /**
   * The raw body, for an action with `binaryTypes`. Throws unsupported-media-type, and while reading whatever
   * `readUpload` throws.
   */
  readBytes(): AsyncIterable<Uint8Array>;
}

/** An authenticated request. */
export interface ApiRequest extends PublicRequest {
  readonly principal: Principal;
  /** The user with the access scope in the acting domain. */
  readonly by: ActorContext;
  /** Responds with one row, including the relations requested by `include…` flags. */
  respondWithRow<R extends AnyResource>(resource: R, row: RowOf<R>): Promise<HttpResponse>;
  /**
   * Responds with a page of a resource, applying the list parameters of the query, limited to rows visible to the
   * user. `restriction` narrows the list further; `visibility` replaces the visibility of the user. `permissions` of
   * the rows refer to the path of the action if it is a path of the resource, otherwise to the canonical path.
   */
  respondWithList(
    resource: AnyResource,
    restriction: Pick<PageQuery, "within" | "through" | "filters" | "pks" | "pksOf" | "ids">,
    visibility?: RowVisibility,
  ): Promise<HttpResponse>;
}

/** Any content type, as one of `binaryTypes`. */
export const ANY_CONTENT_TYPE = "*/*";

/** Request headers that an endpoint may support. */
export type HeaderName = "If-Match";

interface ActionBase {
  method: Method;
  /**
   * Path below `/api/v1/`, such as `users/{userId}/tokens`. Replaces the generic operation with the same method and
   * path.
   */
  at: string;
  /** True if `at` is relative to `/api/` instead of `/api/v1/`. */
  outsideVersion?: boolean;
  /** Path of the returned rows, if no declaration has this path. */
  rowPath?: ResourcePath;
  /** One sentence for the OpenAPI document, as are the fields below. */
  doc: string;
  /** Shape of a successful response. */
  response: ResponseShape;
  /** Fields of the body. Without it the body is not read. */
  accepts?: Readonly<Record<string, Field>>;
  /** Content types of a binary body of any length; ANY_CONTENT_TYPE also accepts a body without one. */
  binaryTypes?: readonly string[];
  /** Query parameters in addition to those implied by the response, in camelCase. */
  query?: Readonly<Record<string, Field>>;
  /** Supported request headers. */
  headers?: readonly HeaderName[];
  /** Deprecation, announced in the headers of every response. */
  deprecated?: Deprecation;
  /** A read that calls another system, whose failure is a 502; writes have that status anyway. */
  callsOut?: boolean;
  /** The response is sent with this status, too, such as 503 for a bad health. */
  alsoSentWith?: 503;
  /** Shape of an error response, if it differs from the standard error. */
  errorResponse?: Extract<ResponseShape, { kind: "page" | "members" }>;
}

/** An endpoint with authentication. */
export interface GuardedAction extends ActionBase {
  /**
   * `path` (default): the user needs the permission for the requested method and path (such as POST
   * `/users/0190…/tokens`), otherwise 403. `anyone`: any authenticated user; the handler checks permissions itself.
   * `super`: as `path`, and only for members of super groups, with an audit entry: it decides whom the appliance trusts.
   */
  permission?: "path" | "anyone" | "super";
  /** Reading leaves an audit entry, summed up; the name of the resource that was read. */
  auditsReading?: string;
  /**
   * True if `?dryRun=true` is supported: the action must write through `deps.store` of the request only. Other
   * actions refuse the parameter.
   */
  supportsDryRun?: boolean;
  /** Whether the resource of the path is visible to the caller; if not, a denied request gets 404 instead of 403. */
  isVisible?: (request: Pick<ApiRequest, "params" | "deps">, scope: AccessScope) => boolean;
  handle(request: ApiRequest): Promise<HttpResponse>;
}

/** An endpoint without authentication, such as login. */
export interface PublicAction extends ActionBase {
  permission: "open";
  handle(request: PublicRequest): Promise<HttpResponse>;
  /** Renders a caller error in its own format, such as an HTML page. Never called for bugs. */
  respondToError?(error: unknown, request: Omit<PublicRequest, "body" | "readBytes">): HttpResponse;
}

/**
 * An endpoint other than the generic row operations. It calls a function of another module and wraps the result; it
 * contains no business logic.
 */
export type Action = GuardedAction | PublicAction;

/** Responds with a JSON value; timestamps must already be ISO strings. */
export function jsonResponse(value: unknown, status = 200): HttpResponse {
  return { status, body: JSON.stringify(value) };
}

/** Response to a deletion. @source docs/decisions/0001-lists-and-paging.md; docs/decisions/0042-api-contract.md */
export function deletedResponse(id: string): HttpResponse {
  return jsonResponse({ status: 200, message: `deleted ${id}`, resources: [{ id }] });
}

/** The row `id` if it is visible to the user. Throws not-found. */
export function requireVisibleRow<R extends AnyResource>(request: ApiRequest, resource: R, id: string): RowOf<R> {
  const row = request.deps.store.get(resource, id, request.by.scope);
  if (!row) throw notFound();
  return row;
}
