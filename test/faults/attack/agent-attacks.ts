import { createSocket } from "node:dgram";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../../src/lib/clock.ts";
import { encodeRtpPacket, ssrcOf } from "../../../src/media/rtp.ts";
import { runSpeakerAgent } from "../../../src/speaker-agent/speaker-agent.ts";
import { openStateFolder } from "../../../src/speaker-agent/state-folder.ts";
import type { Attack } from "./attack.ts";
import { type AttackWorld, control, countStatuses, type Received } from "./attack-world.ts";

const JOIN_SECRET = "what agents of this school are let in by";
/** Requests of a minute that once locked agents out. */
const FLOOD = 600;
const AGENTS = 40;
const PARALLEL = 20;

const macOf = (n: number): string => `0200${n.toString(16).padStart(8, "0")}`;

/** Enables the plugin; resolves with its row once it runs. */
async function startPlugin(world: AttackWorld, config: object): Promise<string> {
  const { token } = world.first;
  const list = await world.ask("GET", "/extensions?limit=100", { token });
  const plugin = (list.body.data as { id: string; name: string }[]).find(({ name }) => name === "speakers");
  const path = `/extensions/${plugin?.id}`;
  await world.ask("PUT", path, { token, json: { disabled: false, config } });
  for (let tries = 0; tries < 200; tries++) {
    const { body } = await world.ask("GET", path, { token });
    if (body.status?.state === "running") break;
    await pause(50);
  }
  return path;
}

function register(world: AttackWorld, mac: string, secret: string | null, from: string): Promise<Received> {
  const sent = { json: { mac, model: "x" }, from };
  return world.ask("POST", "//x/speakers/register", secret === null ? sent : { ...sent, token: secret });
}

/** Floods the registration with and without a wrong secret, from the agents' address and others; real agents join meanwhile. */
async function lockAgentsOut(world: AttackWorld) {
  await startPlugin(world, { joinSecret: JOIN_SECRET, openToAll: true, rules: [] });
  const answers: Received[] = [];
  let sent = 0;
  const flood = async (): Promise<void> => {
    while (sent < FLOOD) {
      const n = sent++;
      const from = n % 2 === 0 ? "127.0.0.1" : `127.77.${n >> 8}.${1 + (n % 250)}`;
      answers.push(await register(world, macOf(0x10000 + n), n % 3 === 0 ? null : `wrong secret number ${n}`, from));
    }
  };
  const join = async (): Promise<number> => {
    let joined = 0;
    for (let n = 0; n < AGENTS; n++) {
      const { status, body } = await register(world, macOf(n), JOIN_SECRET, "127.0.0.1");
      if (status !== 201) continue;
      const beat = { json: { port: 5_004, waitMs: 0 }, token: body.token as string };
      if ((await world.ask("POST", `//x/speakers/agents/${macOf(n)}/beat`, beat)).status === 200) joined++;
    }
    return joined;
  };
  const [joined] = await Promise.all([join(), ...Array.from({ length: PARALLEL }, flood)]);
  const after = await join();
  const accepted = answers.filter(({ status, body }) => status === 201 && body.configured === true).length;
  return {
    answered: `${countStatuses(answers)} (agents: ${joined} and ${after} of ${AGENTS} joined)`,
    gains: [
      ...(joined < AGENTS || after < AGENTS ? [`only ${joined} and ${after} of ${AGENTS} agents joined`] : []),
      ...(accepted > 0 ? [`${accepted} strangers were accepted`] : []),
    ],
  };
}

/** Sends RTP of many kinds to the port of a real agent, which plays to a file that stays empty. */
async function speakOnAgent(world: AttackWorld) {
  const path = await startPlugin(world, { joinSecret: JOIN_SECRET, openToAll: false, rules: [] });
  const folder = await mkdtemp(join(tmpdir(), "carillon-attack-agent-"));
  const stopping = new AbortController();
  const lines: string[] = [];
  let played = 0;
  const running = runSpeakerAgent(
    {
      ...{ clock: systemClock, server: world.url, joinSecret: JOIN_SECRET, state: await openStateFolder(folder) },
      ...{ mac: "020066666666", name: "Gym", model: "attacked", version: "1", port: 0, bufferMs: 60 },
      open: () => ({
        write: (pcm) => {
          played += pcm.length;
        },
        ...{ ended: new Promise<null>(() => undefined), end: () => undefined, abort: () => undefined },
      }),
      ...{ listen: null, watchNetwork: null, machine: { bootId: null, isClockSet: async () => true } },
      log: (line) => void lines.push(line),
    },
    stopping.signal,
  );
  const ended = running.catch((error: Error) => void lines.push(error.message));
  const socket = createSocket("udp4");
  let sent = 0;
  let reason = "";
  try {
    await new Promise<void>((resolve) => socket.bind(0, "127.66.66.66", resolve));
    // The agent reports what it refused with its next poll, at the latest after 8 s.
    for (let tries = 0; tries < 300 && !reason.includes("127.66.66.66"); tries++) {
      const port = Number(/port (\d+)/.exec(lines.join(" "))?.[1] ?? 0);
      for (let n = 0; port > 0 && n < 50; n++, sent++) {
        const header = { payloadType: 0, marker: false, sequence: sent & 0xffff, timestamp: sent * 160 };
        const ssrc = n % 2 === 0 ? ssrcOf(`guess ${n}`) : n;
        const packet = encodeRtpPacket({ ...header, ssrc }, new Uint8Array(160).fill(7));
        socket.send(n % 3 === 0 ? Buffer.concat([packet, Buffer.alloc(10, n)]) : packet, port, "127.0.0.1");
      }
      await pause(100);
      const { body } = await world.ask("GET", path, { token: world.first.token });
      reason = String(body.status?.reason ?? "");
    }
  } finally {
    socket.close();
    stopping.abort();
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
  return {
    answered: `${sent} packets refused, told: ${reason.slice(0, 90)}`,
    gains: [
      ...control(sent > 0 && reason.includes("127.66.66.66"), `the agent reported nothing: ${lines.join("; ")}`),
      ...(played > 0 ? [`${played} samples were played`] : []),
    ],
  };
}

/** Asks the phones' authentication URL in the name of phones to which no push is under way. */
async function askForPhones(world: AttackWorld) {
  const url = world.daemon.urls["ip-phones/auth"] ?? "";
  const answers: string[] = [];
  const given = [
    ["carillon", "carillon"],
    ["admin", "cisco"],
    ["", ""],
    ["bell", "pass"],
    ["' OR 1=1 --", "' OR 1=1 --"],
  ] as const;
  for (const [UserID, Password] of given)
    for (const devicename of ["SEP001122334455", "SEPFFFFFFFFFFFF", "*", ""]) {
      const query = new URLSearchParams({ UserID, Password, devicename });
      const answer = await fetch(`http://127.0.0.1:${new URL(url).port}/auth?${query}`);
      answers.push((await answer.text()).trim());
    }
  const refused = answers.filter((answer) => answer === "UN-AUTHORIZED").length;
  return {
    answered: `${refused} of ${answers.length} UN-AUTHORIZED`,
    gains: [
      ...control(refused > 0, `answered ${answers[0]}`),
      ...answers.filter((answer) => answer === "AUTHORIZED").map(() => "a stranger was authorized"),
    ],
  };
}

export const AGENT_ATTACKS: readonly Attack[] = [
  { by: "stranger", what: "floods the registration of speaker agents", run: lockAgentsOut },
  { by: "stranger", what: "sends audio to a speaker agent (RTP)", run: speakOnAgent },
  { by: "stranger", what: "asks the authentication URL for phones", run: askForPhones },
];
