import { expect, it } from "vitest";
import { createCloudCredentials } from "../../../src/cloud-link/cloud-credentials.ts";

it("uses the caller's cloud token or log-in proof, whichever is newest", async () => {
  const asked: string[] = [];
  const credentials = createCloudCredentials({
    async prove({ email }) {
      asked.push(email);
      return email === "ann@school.example" ? "proof 1" : null;
    },
    isFromCloud: (tokenId) => tokenId === "cloud's",
    hub: () => "https://cloud.example",
  });
  const session = { tokenId: "session", accessToken: null };
  await expect(credentials.of(session)).rejects.toMatchObject({ type: "forbidden" });
  credentials.renew(session, "proof 0");
  await expect(credentials.of(session)).rejects.toThrow("https://cloud.example");
  credentials.logIn("session", { email: "ann@school.example", password: "x" });
  expect(await credentials.of(session)).toEqual({ proof: "proof 1" });
  credentials.renew(session, "proof 2");
  expect(await credentials.of(session)).toEqual({ proof: "proof 2" });
  credentials.logIn("other", { email: "bob@school.example", password: "x" });
  await expect(credentials.of({ tokenId: "other", accessToken: null })).rejects.toThrow("Log out and log in again");
  expect(await credentials.of({ tokenId: "cloud's", accessToken: "t" })).toEqual({ token: "t" });
  // A token that was made here is not shown to the cloud.
  await expect(credentials.of({ tokenId: "local", accessToken: "t" })).rejects.toThrow("created in the cloud");
  expect(asked).toEqual(["ann@school.example", "bob@school.example"]);
});
