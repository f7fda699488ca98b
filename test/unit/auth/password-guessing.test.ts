import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLoginService, type LoginService } from "../../../src/auth/login.ts";
import { hashPassword } from "../../../src/auth/passwords.ts";
import users from "../../../src/resources/people/users.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

const PASSWORD = "correct horse battery";
const MINUTE = 60_000;
const GUESSES = 10_000;

let fixture: AccessFixture;
let signIn: LoginService;
beforeEach(async () => {
  fixture = await openAccess(makeTempDir());
  signIn = createLoginService(fixture);
  const passwordHash = await hashPassword(PASSWORD);
  for (const name of ["ann", "bob", "cid"]) {
    await fixture.store.create(users, { name, email: `${name}@example.org` }, fixture.system, { passwordHash });
  }
});
afterEach(() => fixture.close());

const logIn = (name: string, address: string, password = PASSWORD) =>
  signIn.loginWithPassword({ email: `${name}@example.org`, password }, address);

/** Whether a guess was looked at, or turned away at once. */
async function guess(name: string, address: string): Promise<"verified" | "held"> {
  const error = await logIn(name, address, "wrong horse").then(
    () => null,
    (thrown: { type: string }) => thrown,
  );
  if (error?.type === "unauthorized") return "verified";
  if (error?.type === "too-many-requests") return "held";
  throw new Error(`a guess ended otherwise: ${JSON.stringify(error)}`);
}

/**
 * What `work` takes, ms: in processor time over the two cores that hash, since tests share the machine with others; on a
 * machine of its own that is the time on the clock.
 */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 2_000;
}

/** The most of `times` that lie within one minute. */
function maxPerMinute(times: readonly number[]): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + MINUTE).length));
}

describe("10,000 guesses", () => {
  it.each([
    ["one address", 20, () => "10.0.0.1"],
    ["an address each of one network", 20, (at: number) => `10.1.1.${at & 255}`],
    ["an address each of forty networks", 60, (at: number) => `10.1.${at >> 8}.${at & 255}`],
  ])(
    "at one account from %s are throttled to %i a minute while others log in at once",
    async (_what, most, from) => {
      const verified: number[] = [];
      // Two minutes of guessing, a guess each 12 ms.
      for (let at = 0; at < GUESSES; at++) {
        if ((await guess("ann", from(at))) === "verified") verified.push(fixture.clock.monotonicMs());
        if (at % 2_500 === 0) {
          expect(await timed(() => logIn("bob", from(at)))).toBeLessThan(1_000);
        }
        fixture.clock.advanceSync(12);
      }
      expect(maxPerMinute(verified)).toBeLessThanOrEqual(most);
      expect(verified.length).toBeGreaterThan(5);
      fixture.clock.advanceSync(30_000);
      await logIn("ann", "10.9.9.9");
    },
    180_000,
  );

  it("in parallel delay logins by less than a second", async () => {
    const guesses = Array.from({ length: GUESSES }, (_, at) => guess("ann", `10.1.${at >> 8}.${at & 255}`));
    const others = () => Promise.all([logIn("bob", "10.2.0.1"), logIn("cid", "10.2.0.2")]);
    expect(await timed(others)).toBeLessThan(1_000);
    const ends = await Promise.all(guesses);
    expect(ends.filter((end) => end === "verified").length).toBeLessThanOrEqual(20);
  }, 180_000);

  it("at many accounts from one address are throttled while other addresses log in", async () => {
    let verified = 0;
    for (let at = 0; at < GUESSES; at++) {
      if ((await guess(`user${at}`, "10.0.0.1")) === "verified") verified += 1;
      fixture.clock.advanceSync(6);
    }
    expect(verified).toBeLessThanOrEqual(40);
    await logIn("bob", "10.0.0.2");
  }, 180_000);

  it("take as long for an unknown account as for a known one", async () => {
    const [known, unknown]: [number[], number[]] = [[], []];
    for (let round = 0; round < 12; round++) {
      fixture.clock.advanceSync(MINUTE);
      known.push(await timed(() => guess("ann", "10.0.0.1")));
      unknown.push(await timed(() => guess("nobody", "10.0.0.1")));
    }
    const middle = (times: number[]) => times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
    // Hashing takes some ms or tens of them; without it the answer would come in less than one.
    expect(Math.min(middle(known), middle(unknown))).toBeGreaterThan(2);
    expect(Math.abs(middle(known) - middle(unknown))).toBeLessThan(0.5 * middle(known));
  }, 180_000);
});
