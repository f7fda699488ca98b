import { type CheckContext, describeResponse, expectThat } from "./findings.ts";
import type { TargetResponse } from "./target.ts";

const LISTS = "/v1/distribution-lists";
const UNKNOWN_DOMAIN = "0190b7c2-7f3a-7000-8000-000000000001";
/** Sends no token in the header. */
const NO_TOKEN = { authorization: undefined };

/**
 * Rules of every request: where a token may be, and in which domain a request acts.
 * @source docs/decisions/0003-authentication.md; docs/decisions/0004-domains.md; docs/decisions/0042-api-contract.md
 */
export async function checkCommonRules(context: CheckContext): Promise<void> {
  await checkTokens(context);
  await checkActingDomain(context);
}

async function checkTokens(context: CheckContext): Promise<void> {
  const { target } = context;
  const accessToken = encodeURIComponent(target.token);
  expectAccepted(
    context,
    "a token in the query",
    await target.request("GET", `/v1/session?access_token=${accessToken}`, undefined, NO_TOKEN),
  );
  const form = new URLSearchParams({ name: "Conformance token", access_token: target.token });
  expectCreated(context, "a token in a form", await target.request("POST", LISTS, form, NO_TOKEN));
  expectRefused(context, "a request without a token", await target.request("GET", "/v1/session", undefined, NO_TOKEN));
  const wrong = { authorization: "Bearer conformance-no-token" };
  expectRefused(context, "an unknown token", await target.request("GET", "/v1/session", undefined, wrong));
  const multipart = new FormData();
  multipart.set("name", "Conformance multipart");
  multipart.set("access_token", target.token);
  expectRefused(context, "a token in a multipart body", await target.request("POST", LISTS, multipart, NO_TOKEN));
}

async function checkActingDomain(context: CheckContext): Promise<void> {
  const { target } = context;
  const made = await target.request("POST", "/v1/domains", { name: "Conformance domain" });
  if (!expectCreated(context, "a domain", made, "/v1/domains")) return;
  const domain = String(made.body?.id);
  const header = (id: string): Record<string, string> => ({ "x-service-domain": id });
  const get = (query: string, headers: Record<string, string> = {}): Promise<TargetResponse> =>
    target.request("GET", `${LISTS}${query}`, undefined, headers);
  expectAccepted(context, "the domain in a header", await get("", header(domain)));
  expectAccepted(context, "the domain in the query", await get(`?domain=${domain}`));
  expectAccepted(
    context,
    "a domain in the query beside another",
    await get(`?domain=${domain}`, header(UNKNOWN_DOMAIN)),
  );
  expectInvalid(context, "an unknown domain in a header", await get("", header(UNKNOWN_DOMAIN)));
  expectInvalid(context, "an unknown domain in the query", await get(`?domain=${UNKNOWN_DOMAIN}`, header(domain)));
  const list = { name: "Conformance list of a domain" };
  const row = await target.request("POST", LISTS, { ...list, domain });
  if (expectCreated(context, "the domain in a body", row)) {
    const { body } = await get(`?domain=${domain}`);
    const ids = ((body?.data ?? []) as { id: string }[]).map(({ id }) => id);
    expectThat(context, ids.includes(String(row.body?.id)), "a row made in a domain is not in its list");
  }
  const elsewhere = await target.request("POST", LISTS, { ...list, domain: UNKNOWN_DOMAIN });
  if (elsewhere.status === 200) target.trackForCleanup(`${LISTS}/${String(elsewhere.body?.id)}`);
  expectInvalid(context, "an unknown domain in a body", elsewhere);
}

function expectAccepted(context: CheckContext, what: string, response: TargetResponse): void {
  expectThat(context, response.status === 200, `${what} returned ${describeResponse(response)}`);
}

function expectCreated(context: CheckContext, what: string, response: TargetResponse, at = LISTS): boolean {
  if (response.status === 200) context.target.trackForCleanup(`${at}/${String(response.body?.id)}`);
  return expectThat(context, response.status === 200, `${what} returned ${describeResponse(response)}`);
}

function expectRefused(context: CheckContext, what: string, response: TargetResponse): void {
  const isRefused = response.status === 401 || response.status === 403;
  expectThat(context, isRefused, `${what} returned ${describeResponse(response)} instead of 401`);
}

function expectInvalid(context: CheckContext, what: string, response: TargetResponse): void {
  expectThat(context, response.status === 400, `${what} returned ${describeResponse(response)} instead of 400`);
}
