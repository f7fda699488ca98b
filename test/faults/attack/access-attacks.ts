import type { Attack } from "./attack.ts";
import type { AttackWorld, Received } from "./attack-world.ts";

interface Operation {
  method: string;
  path: string;
  isPublic: boolean;
}

/** An id that no row has. */
const NO_ROW = "01900000-0000-7000-8000-000000000000";
/** What signed-in people may do for themselves; the answers hold nothing of others. */
const FOR_ONESELF =
  /^\/\/api\/v1\/(session|me|openapi|docs|tts|dashboard|time-zones|emergencies$|notification-profiles|password-strength)|\/(search|validate)$/;

const ok = ({ status }: Received): boolean => status >= 200 && status < 300;

/** All operations of the OpenAPI document, with ids that the attacker may have seen in a link. */
async function operations(world: AttackWorld): Promise<Operation[]> {
  const { body } = await world.ask("GET", "/openapi.json", { token: world.first.token });
  return Object.entries(body.paths as Record<string, Record<string, { security?: unknown[] }>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => ["get", "put", "post", "delete"].includes(method))
        .map(([method, { security }]) => ({
          method: method.toUpperCase(),
          path: `//api${path}`.replace(/\{(\w+)\}/g, (_, name: string) => idFor(world, path, name)),
          isPublic: security !== undefined && security.length === 0,
        })),
  );
}

function idFor({ southRows, first, south }: AttackWorld, path: string, name: string): string {
  const [collection = ""] = path.split("/").filter((part) => !["", "onprem", "v1"].includes(part));
  if (name === "userId" || collection === "users") return southRows.users ?? NO_ROW;
  if (collection === "domains") return south;
  if (collection === "extensions") return first.extensionId;
  return southRows[collection] ?? NO_ROW;
}

/** Words of rows that a pupil of North must never read. */
const secretsOf = ({ neighbour, southRows }: AttackWorld): string[] => [
  neighbour.email,
  "South lockdown",
  "South parents",
  "South rooms",
  "admin@example.org",
  ...Object.values(southRows),
];

/** What of the answer the attacker should not have read; what was in the request itself is no news. */
function read(answer: Received, request: string, words: readonly string[]): string[] {
  if (!ok(answer)) return [];
  return words.filter((word) => answer.text.includes(word) && !request.includes(word));
}

const statuses = (answers: readonly Received[]): string => {
  const counts = new Map<number, number>();
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${count} x ${status}`)
    .join(", ");
};

/** Every operation, one after the other; `gain` says what an answer brought. */
async function tryAll(
  world: AttackWorld,
  fits: (operation: Operation) => boolean,
  sending: { token?: string; json?: unknown },
  gain: (answer: Received, operation: Operation) => string | null,
) {
  const answers: Received[] = [];
  const gains: string[] = [];
  for (const operation of (await operations(world)).filter(fits)) {
    const { json, ...rest } = sending;
    const answer = await world.ask(operation.method, operation.path, {
      ...rest,
      ...(operation.method === "GET" || operation.method === "DELETE" ? {} : { json }),
    });
    answers.push(answer);
    const gained = gain(answer, operation);
    if (gained !== null) gains.push(`${operation.method} ${operation.path}: ${gained}`);
    if (answer.status >= 500 && answer.status !== 501 && answer.status !== 503)
      gains.push(`${operation.method} ${operation.path} was answered ${answer.status}`);
  }
  return { answered: statuses(answers), gains };
}

/** An attack that fails for everybody proves nothing: what must succeed beside it. */
const control = (holds: boolean, what: string): string[] => (holds ? [] : [`proves nothing: ${what}`]);

/** Requests one after the other; each that succeeds is a gain. */
async function allRefused(world: AttackWorld, token: string, requests: readonly [string, string, unknown?][]) {
  const answers: Received[] = [];
  const gains: string[] = [];
  for (const [method, path, json] of requests) {
    const answer = await world.ask(method, path, { token, ...(json === undefined ? {} : { json }) });
    answers.push(answer);
    if (ok(answer)) gains.push(`${method} ${path} was answered ${answer.status}: ${answer.text.slice(0, 120)}`);
    if (answer.status >= 500) gains.push(`${method} ${path} was answered ${answer.status}`);
  }
  return { answered: statuses(answers), gains };
}

/** Every list and row, as an administrator and as a pupil. */
async function readAll(world: AttackWorld) {
  let asAdministrator = 0;
  // The stream of events does not end.
  const isRead = ({ method, path }: Operation): boolean => method === "GET" && !path.endsWith("/events");
  await tryAll(world, isRead, { token: world.first.token }, (answer) => {
    if (ok(answer)) asAdministrator += 1;
    return null;
  });
  const result = await tryAll(world, isRead, { token: world.pupil.token }, (answer, { path }) => {
    const words = read(answer, path, secretsOf(world));
    return words.length === 0 ? null : `told ${words.join(", ")}`;
  });
  const answered = `${result.answered} (an administrator: ${asAdministrator} x 2xx)`;
  return { answered, gains: [...result.gains, ...control(asAdministrator > 100, "the administrator reads little")] };
}

/** Reads, searches and changes rows of South in every way that names them. */
async function reachIntoSouth(world: AttackWorld) {
  const { manager, southRows, south } = world;
  const answers: Received[] = [];
  const own = await world.ask("POST", "/distribution-lists", { token: manager.token, json: { name: "North parents" } });
  const gains: string[] = control(ok(own), `a list in North was answered ${own.status}`);
  for (const [collection, id] of Object.entries(southRows)) {
    const paths = [
      `/${collection}/${id}`,
      `/${collection}/${id}?domain=${south}`,
      `/${collection}?id=${id}`,
      `/${collection}?q=South`,
      `/${collection}?domain=${south}`,
      `/${collection}?domainId=${south}`,
      `/domains/${south}/${collection}`,
      `/domains/${south}/${collection}/${id}`,
      `/${collection}?include=domains,users,members&limit=1000`,
    ];
    for (const path of paths) {
      const answer = await world.ask("GET", path, { token: manager.token });
      answers.push(answer);
      for (const word of read(answer, path, [id, world.neighbour.email, "South lockdown", "South parents"]))
        gains.push(`GET ${path} told ${word}`);
    }
    const asSouth = { token: manager.token, headers: { "x-service-domain": south } };
    for (const path of [`/${collection}`, `/${collection}/${id}`]) {
      const answer = await world.ask("GET", path, asSouth);
      answers.push(answer);
      if (read(answer, path, [id]).length > 0 || (ok(answer) && path.endsWith(id)))
        gains.push(`GET ${path} as South was answered ${answer.status}`);
    }
    for (const [method, json] of [
      ["PUT", { name: "taken over" }],
      ["DELETE", undefined],
    ] as const) {
      const sent = { token: manager.token, ...(json ? { json } : {}) };
      const answer = await world.ask(method, `/${collection}/${id}`, sent);
      answers.push(answer);
      if (ok(answer)) gains.push(`${method} /${collection}/${id} was answered ${answer.status}`);
    }
    const taken = await world.ask("POST", `/domains/${world.north}/${collection}`, {
      token: manager.token,
      json: { id },
    });
    answers.push(taken);
    if (ok(taken)) gains.push(`${collection} of South joined North`);
  }
  return { answered: statuses(answers), gains };
}

/** Names rows of South in what is made in North: to send to them, or to be told what they are. */
function sendToSouth(world: AttackWorld) {
  const lists = world.southRows["distribution-lists"];
  const template = world.southRows["message-templates"];
  const group = world.southRows["device-groups"];
  return allRefused(world, world.manager.token, [
    ["POST", "/notifications", { subject: "x", distributionListIds: [lists] }],
    ["POST", "/notifications", { messageTemplateId: template, userIds: [world.manager.id] }],
    ["POST", "/notifications", { subject: "x", deviceGroupIds: [group] }],
    ["POST", "/notifications", { subject: "x", userIds: [world.neighbour.id] }],
    ["POST", "/notifications", { subject: "x", userIds: [world.first.userId] }],
    ["POST", "/message-templates", { name: "x", subject: "x", distributionListIds: [lists] }],
    ["POST", "/device-groups", { name: "x", filterType: "ACCEPT", baseDeviceGroupIds: [group] }],
    ["POST", "/scenarios", { name: "x", messageTemplateId: template }],
  ]);
}

async function becomeSuper(world: AttackWorld) {
  const { manager, first, south } = world;
  const groups = await world.ask("GET", "/security-groups?superGroup=true", { token: first.token });
  const administrators = String(groups.body.data[0].id);
  const result = await allRefused(world, manager.token, [
    ["POST", `/security-groups/${administrators}/members`, { userId: manager.id }],
    ["PUT", `/security-groups/${administrators}`, { name: "Mine" }],
    ["POST", "/security-groups", { name: "Mine", superGroup: true }],
    ["POST", "/security-groups", { name: "Mine", isSuperGroup: true, superGroup: "true" }],
    ["PUT", `/users/${manager.id}`, { breakGlass: true }],
    ["POST", "/users", { name: "Puppet", email: "puppet@example.org", breakGlass: true }],
    ["POST", `/users/${manager.id}/user-permissions`, { verb: "put", spec: "/*", domainId: first.domainId }],
    ["POST", `/domains/${first.domainId}/user-permissions`, { userId: manager.id, verb: "put", spec: "/*" }],
    ["POST", `/domains/${south}/user-permissions`, { userId: manager.id, verb: "get", spec: "/*" }],
    ["POST", `/users/${first.userId}/tokens`, { name: "mine" }],
    ["PUT", `/users/${first.userId}/password`, { password: "seven lamps on mules" }],
    ["PUT", `/users/${first.userId}`, { email: "manager2@example.org" }],
    ["DELETE", `/users/${first.userId}`],
    ["POST", "/link", { url: world.attackerUrl, code: "AAAAA-AAAAA" }],
    ["DELETE", "/link"],
    ["POST", "/identity-providers", { name: "Mine", type: "openid", issuer: world.attackerUrl, clientId: "x" }],
    ["PUT", "/licence", { licence: "x" }],
    ["PUT", "/certificate", { certificate: "x", privateKey: "x" }],
    ["PUT", `/domains/${first.domainId}`, { name: "Mine" }],
    ["POST", "/domains", { name: "Attic", parentId: south }],
    ["DELETE", "/audit"],
    ["PUT", "/audit", {}],
  ]);
  const self = await world.ask("GET", `/security-groups/${administrators}/members`, { token: first.token });
  const joined = (self.body.data as { userId?: string; id: string }[]).some((row) =>
    [row.userId, row.id].includes(manager.id),
  );
  return { ...result, gains: [...result.gains, ...(joined ? ["the manager is an administrator"] : [])] };
}

/** Fields that only the appliance sets, given when a row is made. */
async function assignInternals(world: AttackWorld) {
  const { manager, south, first } = world;
  const answer = await world.ask("POST", "/users", {
    token: manager.token,
    json: {
      ...{ name: "Mole", email: "mole@example.org", id: first.userId, domainId: south, breakGlass: false },
      ...{ createdAt: "2001-01-01T00:00:00Z", passwordHash: "$argon2id$x", securityGroupIds: [first.providerId] },
      ...{
        isLocked: true,
        permissions: ["delete"],
        __proto__: { superGroup: true },
        constructor: { prototype: { a: 1 } },
      },
    },
  });
  const gains: string[] = [];
  if (ok(answer)) {
    const made = (await world.ask("GET", `/users/${answer.body.id}`, { token: first.token })).body;
    if (made.id === first.userId) gains.push("the id was taken over");
    if (made.domainId === south) gains.push("the user is in South");
    if (String(made.createdAt).startsWith("2001")) gains.push("the time of creation was given");
  }
  return { answered: String(answer.status), gains };
}

/** The same Idempotency-Key as another user, whose answer it must not get. */
async function replayKey(world: AttackWorld) {
  const headers = { "idempotency-key": "attack-replay-1" };
  const json = { name: "Secret list of the head" };
  await world.ask("POST", "/distribution-lists", { token: world.first.token, json, headers });
  const answer = await world.ask("POST", "/distribution-lists", { token: world.pupil.token, json, headers });
  return { answered: String(answer.status), gains: ok(answer) ? ["the answer to the administrator"] : [] };
}

/** The page pointer of an administrator, in the hands of a pupil. */
async function borrowPointer(world: AttackWorld) {
  const page = await world.ask("GET", "/users?limit=1", { token: world.first.token });
  const next = String(page.body.next ?? page.body.nextPage ?? page.headers.link ?? "");
  const start = /start=([^&>"]+)/.exec(next)?.[1] ?? next;
  const answer = await world.ask("GET", `/users?limit=100&start=${encodeURIComponent(decodeURIComponent(start))}`, {
    token: world.pupil.token,
  });
  return { answered: String(answer.status), gains: read(answer, "", secretsOf(world)) };
}

/** ETags tell whether a row is there. */
async function askByTag(world: AttackWorld) {
  const path = `/users/${world.neighbour.id}`;
  const seen = await world.ask("GET", path, { token: world.first.token });
  const tag = String(seen.headers.etag ?? "*");
  const answers = [];
  for (const headers of [{ "if-none-match": tag }, { "if-none-match": "*" }, { "if-match": tag }])
    answers.push(
      await world.ask("GET", path, { token: world.pupil.token, headers: headers as Record<string, string> }),
    );
  const none = await world.ask("GET", `/users/${NO_ROW}`, { token: world.pupil.token });
  const gains = answers.filter(({ status }) => status !== none.status).map(({ status }) => `answered ${status}`);
  return { answered: statuses(answers), gains };
}

export const ACCESS_ATTACKS: readonly Attack[] = [
  {
    by: "stranger",
    what: "every operation of the API without log-in",
    run: (world) =>
      tryAll(
        world,
        ({ isPublic }) => !isPublic,
        { json: { name: "x" } },
        (answer) => (ok(answer) ? `answered ${answer.status}` : null),
      ),
  },
  {
    by: "stranger",
    what: "every operation of the API with an invented token",
    run: (world) =>
      tryAll(
        world,
        ({ isPublic }) => !isPublic,
        { token: "carillon_invented", json: { name: "x" } },
        (answer) => (ok(answer) ? `answered ${answer.status}` : null),
      ),
  },
  {
    by: "pupil",
    what: "every list and row of the API, read without any permission",
    run: readAll,
  },
  {
    by: "pupil",
    what: "every change that the API knows, without any permission",
    run: (world) =>
      tryAll(
        world,
        ({ method, path, isPublic }) => method !== "GET" && !isPublic && !FOR_ONESELF.test(path),
        { token: world.pupil.token, json: { name: "x" } },
        (answer) => (ok(answer) ? `answered ${answer.status}: ${answer.text.slice(0, 80)}` : null),
      ),
  },
  { by: "manager of North", what: "reads, finds and changes what belongs to South", run: reachIntoSouth },
  { by: "manager of North", what: "sends to people and lists of South, or copies its templates", run: sendToSouth },
  { by: "manager of North", what: "makes himself an administrator", run: becomeSuper },
  { by: "manager of North", what: "gives fields that only the appliance sets", run: assignInternals },
  { by: "pupil", what: "uses the Idempotency-Key of an administrator", run: replayKey },
  { by: "pupil", what: "uses the page pointer of an administrator", run: borrowPointer },
  { by: "pupil", what: "asks by ETag whether a row is there", run: askByTag },
];
