import { expect, it } from "vitest";
import type { ForwardedRequest, ForwardedResponse } from "../../../src/cloud-link/site-link.ts";
import { withCloudProxy } from "../../../src/http/proxy-to-cloud.ts";
import { ConflictError, OwnedByCloudError, UpstreamError } from "../../../src/lib/errors.ts";

const elsewhere = new OwnedByCloudError("Only the cloud changes users, and it can't be reached now.");

/** Carries out what only the cloud may do (or fails as given) for a token with scopes; the cloud does as `handOn` says. */
function asked(handOn: (request: ForwardedRequest) => Promise<ForwardedResponse | null>, fault: Error = elsewhere) {
  const raw = { url: "/api/v1/users?access_token=secret&dryRun=true" };
  const base = { method: "post", raw, overridden: null, header: () => null };
  const principal = { tokenId: "t", accessToken: "given" };
  const body = { kind: "json", value: { name: "Ada" }, uploads: [] };
  return withCloudProxy(() => Promise.reject(fault), { base, principal, body } as never, handOn);
}

it("forwards requests for cloud-owned rows with the token of the caller", async () => {
  const requests: ForwardedRequest[] = [];
  const answer = await asked(async (request) => {
    requests.push(request);
    return { status: 200, headers: { etag: "e", date: "d" }, body: Buffer.from("{}") };
  });
  expect(answer).toMatchObject({ status: 200, type: "application/json", headers: { etag: "e" } });
  expect(requests).toMatchObject([
    { caller: { tokenId: "t", accessToken: "given" }, method: "POST", target: "/api/v1/users?dryRun=true" },
  ]);
});

it("keeps the error without a link, passes on the cloud's refusal, or reports an unknown outcome", async () => {
  await expect(asked(async () => null)).rejects.toBe(elsewhere);
  for (const type of ["upstream", "outcome-unknown"] as const) {
    const fault = new UpstreamError(type, "There is no such user here.");
    await expect(asked(() => Promise.reject(fault))).rejects.toBe(fault);
  }
  const other = new ConflictError("The name is taken.");
  await expect(asked(async () => null, other)).rejects.toBe(other);
});
