import { afterAll, beforeAll, expect, it } from "vitest";
import { signLink } from "../../../src/auth/signed-links.ts";
import { createLogInProofs } from "../../../src/cloud-link/log-in-proofs.ts";
import { newId } from "../../../src/lib/ids.ts";
import users from "../../../src/resources/people/users.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

const HOUR = 3_600_000;
let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
});
afterAll(() => fixture.close());

it("are valid for an hour, at their appliance, and can be renewed for twelve", async () => {
  const clock = { now: () => now };
  let now = 1_000;
  const [here, there] = [newId(), newId()];
  const { id } = await fixture.user("Ann");
  const proofs = createLogInProofs(fixture.store, clock);
  const first = proofs.issue(id, here);
  expect(proofs.verify(first, here)).toEqual({ userId: id, scopes: null, loggedInAt: 1_000 });
  expect(proofs.verify(first, there)).toBeNull();
  now += HOUR - 1;
  expect(proofs.verify(first, here)?.userId).toBe(id);
  const second = proofs.issue(id, here, 1_000);
  now += 1;
  expect([proofs.verify(first, here), proofs.verify(second, here)?.loggedInAt]).toEqual([null, 1_000]);
  now = 1_000 + 12 * HOUR - 1;
  const last = proofs.issue(id, here, 1_000);
  expect(proofs.verify(last, here)?.userId).toBe(id);
  now += 1;
  expect(proofs.verify(last, here)).toBeNull();
});

it("end when the user is locked or changes the password, and cannot be forged", async () => {
  const here = newId();
  const { store, system } = fixture;
  const proofs = createLogInProofs(store, { now: () => 1_000 });
  const [bob, eve] = [await fixture.user("Bob"), await fixture.user("Eve")];
  const [ofBob, ofEve] = [proofs.issue(bob.id, here), proofs.issue(eve.id, here)];
  await store.update(users, bob.id, {}, system, { passwordChangedAt: 900 });
  await store.update(users, eve.id, { lock: { start: null, end: null } }, system);
  expect([proofs.verify(ofBob, here), proofs.verify(ofEve, here)]).toEqual([null, null]);
  const payload = `${bob.id} ${here} 1 9999999999999 900`;
  const forged = [Buffer.from(payload).toString("hex"), signLink("browser", payload, store), "", "f".repeat(200)];
  for (const proof of forged) expect(proofs.verify(proof, here)).toBeNull();
  expect(proofs.verify(signLink("appliance", payload, store), here)?.userId).toBe(bob.id);
});
