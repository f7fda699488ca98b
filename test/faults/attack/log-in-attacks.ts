import type { Attack } from "./attack.ts";
import { type AttackWorld, PASSWORD, type Received } from "./attack-world.ts";

interface LogIn {
  email: unknown;
  password: unknown;
  from?: string;
  cookie?: string;
}

const logIn = (world: AttackWorld, { email, password, from, cookie }: LogIn): Promise<Received> =>
  world.ask("POST", "//api/login", {
    json: { email, password },
    headers: { origin: world.url },
    ...(from ? { from } : {}),
    ...(cookie ? { cookie } : {}),
  });

const cookiesOf = ({ headers }: Received): string =>
  (headers["set-cookie"] ?? []).map((each) => each.split(";", 1)[0]).join("; ");

/** The owner logs in from another network while somebody guesses. */
async function lockOut(world: AttackWorld) {
  const slowest: number[] = [];
  let let_in = 0;
  let guessed = 0;
  for (let at = 0; at < 40; at++) {
    const guess = { email: world.neighbour.email, password: `guess number ${at}`, from: `127.9.${at % 4}.1` };
    if ((await logIn(world, guess)).status < 300) guessed += 1;
    const began = performance.now();
    const mine = { email: world.neighbour.email, password: PASSWORD, from: `127.${20 + at}.1.1` };
    if ((await logIn(world, mine)).status === 204) let_in += 1;
    slowest.push(performance.now() - began);
  }
  const worst = Math.max(...slowest);
  return {
    answered: `the owner got in ${let_in} times of 40, at the slowest in ${Math.round(worst)} ms`,
    gains: [
      ...(let_in === 40 ? [] : [`the owner was kept out ${40 - let_in} times`]),
      ...(worst <= 5_000 ? [] : ["the owner waited for more than 5 s"]),
      ...(guessed === 0 ? [] : ["a guess was right"]),
    ],
  };
}

/** One network tries many passwords; it is stopped long before a word list ends. */
async function guessPasswords(world: AttackWorld) {
  const answers: Received[] = [];
  for (let at = 0; at < 30; at++)
    answers.push(await logIn(world, { email: world.manager.email, password: `word ${at}`, from: "127.10.1.1" }));
  const tried = answers.filter(({ status }) => status === 401).length;
  return {
    answered: `${tried} x 401, then 429`,
    gains: tried <= 15 ? [] : [`${tried} passwords of one account were tried without a pause`],
  };
}

/** One password for many accounts: who exists must not be told, in words or time. */
async function enumerate(world: AttackWorld) {
  const seen = new Map<string, number[]>();
  for (let at = 0; at < 6; at++) {
    for (const [kind, email] of [
      ["known", at % 2 ? world.pupil.email : world.manager.email],
      ["unknown", `person${at}@example.org`],
    ] as const) {
      const began = performance.now();
      const answer = await logIn(world, { email, password: "not the one", from: `127.11.${at}.${kind.length}` });
      const text = answer.text.replaceAll(email, "");
      seen.set(`${kind} ${answer.status} ${text.length}`, [
        ...(seen.get(`${kind} ${answer.status} ${text.length}`) ?? []),
        performance.now() - began,
      ]);
    }
  }
  const shapes = new Set([...seen.keys()].map((key) => key.replace(/^\w+ /, "")));
  const median = (kind: string): number => {
    const all = [...seen].flatMap(([key, times]) => (key.startsWith(kind) ? times : [])).sort((a, b) => a - b);
    return all[all.length >> 1] ?? 0;
  };
  const [known, unknown] = [median("known"), median("unknown")];
  const ratio = known / Math.max(unknown, 0.1);
  return {
    answered: `the same words; ${Math.round(known)} ms for known, ${Math.round(unknown)} ms for unknown accounts`,
    gains: [
      ...(shapes.size === 1 ? [] : ["the answers differ"]),
      ...(ratio < 4 && ratio > 0.25 ? [] : ["the times differ by more than a factor of four"]),
    ],
  };
}

/** Log-in fields of other kinds than text. */
async function oddFields(world: AttackWorld) {
  const odd = [{ $gt: "" }, ["a", "b"], true, 0, null, "' OR 1=1 --", "*)(uid=*))(|(uid=*", "x".repeat(100_000)];
  const answers: Received[] = [];
  for (const [at, value] of odd.entries()) {
    answers.push(await logIn(world, { email: value, password: PASSWORD, from: `127.12.${at}.1` }));
    answers.push(await logIn(world, { email: world.manager.email, password: value, from: `127.12.${at}.2` }));
  }
  const statuses = [...new Set(answers.map(({ status }) => status))].sort();
  return {
    answered: statuses.join(", "),
    gains: answers.filter(({ status }) => status < 300 || status >= 500).map(({ status }) => `answered ${status}`),
  };
}

async function fixSession(world: AttackWorld) {
  const planted = "carillon=planted-by-the-attacker";
  const answer = await logIn(world, { email: world.pupil.email, password: PASSWORD, cookie: planted });
  const given = (answer.headers["set-cookie"] ?? []).filter((each) => /^(__Host-)?carillon/.test(each));
  const weak = given.filter((each) => !/HttpOnly/i.test(each) || !/SameSite=(Strict|Lax)/i.test(each));
  const usesPlanted = (await world.ask("GET", "/session", { cookie: planted })).status === 200;
  return {
    answered: `${answer.status}, a new cookie`,
    gains: [
      ...(answer.status === 204 && given.length > 0 ? [] : [`log-in was answered ${answer.status}`]),
      ...(usesPlanted ? ["the planted session is logged in"] : []),
      ...weak.map(() => "the cookie can be read by scripts or sent by other sites"),
    ],
  };
}

/** Sessions and tokens that have ended. */
async function reuseEnded(world: AttackWorld) {
  const gains: string[] = [];
  const first = cookiesOf(await logIn(world, { email: world.pupil.email, password: PASSWORD, from: "127.13.1.1" }));
  const headers = { origin: world.url, "x-carillon-console": "1" };
  const before = (await world.ask("GET", "/session", { cookie: first })).status;
  if (before !== 200) gains.push(`the session was not there at first (${before})`);
  await world.ask("DELETE", "/session", { cookie: first, headers });
  const after = (await world.ask("GET", "/session", { cookie: first })).status;
  if (after < 300) gains.push("the session lives on after log-out");
  const second = cookiesOf(await logIn(world, { email: world.pupil.email, password: PASSWORD, from: "127.13.2.1" }));
  const password = "eleven lamps on mules";
  const changed = await world.ask("PUT", `/users/${world.pupil.id}/password`, {
    token: world.first.token,
    json: { password },
  });
  if (changed.status >= 300) gains.push(`the password could not be changed (${changed.status})`);
  const stolen = (await world.ask("GET", "/session", { cookie: second })).status;
  if (stolen < 300) gains.push("a stolen session lives on after a new password");
  const made = await world.ask("POST", `/users/${world.pupil.id}/tokens`, {
    token: world.first.token,
    json: { name: "lost laptop" },
  });
  await world.ask("DELETE", `/users/${world.pupil.id}/tokens/${made.body.id}`, { token: world.first.token });
  const revoked = (await world.ask("GET", "/session", { token: made.body.token })).status;
  if (revoked < 300) gains.push("a revoked token works");
  await world.ask("PUT", `/users/${world.pupil.id}/password`, {
    token: world.first.token,
    json: { password: PASSWORD },
  });
  return { answered: `${after}, ${stolen}, ${revoked}`, gains };
}

/** An appliance that has its administrator is not set up a second time. */
async function setUpAgain(world: AttackWorld) {
  const answers: Received[] = [];
  for (let at = 0; at < 20; at++)
    answers.push(
      await world.ask("POST", "//api/setup", {
        json: {
          code: `AAAAA-${String(at).padStart(5, "0")}`,
          name: "Eve",
          email: "eve@example.org",
          password: PASSWORD,
        },
        headers: { origin: world.url },
      }),
    );
  return {
    answered: [...new Set(answers.map(({ status }) => status))].join(", "),
    gains: answers.filter(({ status }) => status < 300).map(() => "the appliance was set up again"),
  };
}

/** Tokens where logs and referrers see them, or written otherwise. */
async function oddTokens(world: AttackWorld) {
  const { token } = world.first;
  const spellings: Record<string, string>[] = [
    { authorization: `Basic ${Buffer.from(`:${token}`).toString("base64")}` },
    { authorization: `Bearer ${token.slice(0, -1)}` },
    { authorization: `Bearer ${token}x` },
    { authorization: `Bearer ${token.toUpperCase()}` },
    { authorization: "Bearer null" },
    { authorization: "Bearer " },
    { authorization: "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9." },
    { "x-forwarded-user": "admin@example.org", "x-remote-user": "admin@example.org" },
    { "x-original-url": "/api/v1/users", "x-rewrite-url": "/api/v1/users" },
  ];
  const answers: Received[] = [];
  for (const headers of spellings) answers.push(await world.ask("GET", "/users", { headers }));
  return {
    answered: [...new Set(answers.map(({ status }) => status))].join(", "),
    gains: answers.flatMap(({ status }, at) => (status < 300 ? [`${JSON.stringify(spellings[at])} let in`] : [])),
  };
}

export const LOG_IN_ATTACKS: readonly Attack[] = [
  { by: "owner under attack", what: "somebody else guesses the account's password all the time", run: lockOut },
  { by: "stranger", what: "guesses one account's password", run: guessPasswords },
  { by: "stranger", what: "finds out which accounts exist", run: enumerate },
  { by: "stranger", what: "logs in with fields that are no text", run: oddFields },
  { by: "stranger", what: "plants a session before log-in", run: fixSession },
  { by: "stranger", what: "uses sessions and tokens that have ended", run: reuseEnded },
  { by: "stranger", what: "sets the appliance up a second time", run: setUpAgain },
  { by: "stranger", what: "writes credentials in other ways", run: oddTokens },
];
