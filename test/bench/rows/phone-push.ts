import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { createConcurrencyLimit } from "../../../plugins/ip-phones/concurrency-limit.ts";
import { type PhoneAddress, phoneAddressOf } from "../../../plugins/ip-phones/phone.ts";
import { createPhoneClient } from "../../../plugins/ip-phones/phone-client.ts";
import { createPhoneTaskQueue } from "../../../plugins/ip-phones/phone-task-queue.ts";
import { createPushAuthentication } from "../../../plugins/ip-phones/push-authentication.ts";
import { createPushCredentials } from "../../../plugins/ip-phones/push-credentials.ts";
import { CLEAR_PAGE, pushRequest } from "../../../plugins/ip-phones/push-request.ts";
import { createPusher } from "../../../plugins/ip-phones/pusher.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { REPOSITORY_ROOT, type RunningSimulator, spawnSimulatorProcess } from "../../support/carillon-process.ts";
import { atMost, type BenchmarkFigure, type BenchmarkRow, median } from "../benchmark-row.ts";

const ROUNDS = 3;
const PHONES = 5_000;
const AT_ONCE = 1_024;
const MIB = 2 ** 20;
/** Pushes between two looks at the memory. */
const LOOK_EVERY = 50;
const CREDENTIALS = createPushCredentials("push", { password: "push" });

interface Push {
  seconds: number;
  microseconds: number;
  mebibytes: number;
  /** Phones without an answer within the plugin's 5 s: the machine could not carry so many at once. */
  unanswered: number;
}

/**
 * Row 7: the plugin's own client pushes to phones that answer in 20 ms to 2 s, 1,024 at once; beside it a C program that
 * does the same. Both push to the same campus, whose phones ask the same third process whether they may obey.
 */
export const phonePush: BenchmarkRow = {
  number: 7,
  name: "push to phones",
  async measure(say) {
    const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const server = spawn(process.execPath, [resolve(REPOSITORY_ROOT, "dist/test/bench/yes-server.js")], {
      stdio: "pipe",
    });
    const [port] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
    const campus = await spawnSimulatorProcess([
      ...["--phones", String(PHONES), "--latency", "uniform:20:2000"],
      ...["--auth-url", `http://127.0.0.1:${port}/`],
    ]);
    try {
      const reference = prepareReference(folder, campus);
      const phones = phonesOf(campus);
      const [ours, theirs]: [Push[], number[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        theirs.push(reference());
        ours.push(await pushToAll(phones));
        say(`round ${round + 1} of ${ROUNDS}`);
      }
      return figuresOf(ours, theirs);
    } finally {
      server.kill("SIGTERM");
      await campus.end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

function figuresOf(ours: readonly Push[], theirs: readonly number[]): BenchmarkFigure[] {
  const of = (name: keyof Push): number => median(ours.map((push) => push[name]));
  const what = `${PHONES.toLocaleString("en")} phones, ${of("unanswered")} without an answer`;
  return [
    atMost({ what, ours: of("seconds"), limit: median(theirs), against: "the same in C", unit: "s" }, 1.15),
    atMost({ what: "CPU time a push", ours: of("microseconds"), limit: 250, against: "fixed", unit: "µs" }, 1),
    atMost({ what: "memory", ours: of("mebibytes"), limit: 60, against: "fixed", unit: "MiB more" }, 1),
  ];
}

function phonesOf(campus: RunningSimulator): PhoneAddress[] {
  return campus.devices.map((device) => {
    const { phone, error } = phoneAddressOf({ ...device, id: device.deviceIdentifier });
    if (!phone) throw new Error(error);
    return phone;
  });
}

async function pushToAll(phones: readonly PhoneAddress[]): Promise<Push> {
  const pace = createConcurrencyLimit(systemClock, { min: 64, start: AT_ONCE, max: AT_ONCE });
  const ending = new AbortController();
  const ask = createPhoneClient(systemClock, ending.signal, pace, () => true);
  const authentication = createPushAuthentication(CREDENTIALS, { isAuthorized: async () => false });
  const pusher = createPusher({
    ...{ requestPhone: ask, authentication, authUrl: "", authorizationFor: CREDENTIALS.authorizationFor },
    clock: systemClock,
  });
  const faults: unknown[] = [];
  const turns = createPhoneTaskQueue(systemClock, { maxConcurrent: pace.current, maxLowestPriority: 1 }, (error) =>
    faults.push(error),
  );
  const [began, cpu, memory] = [performance.now(), process.cpuUsage(), process.memoryUsage().rss];
  let most = memory;
  let failed = 0;
  let ended = 0;
  await Promise.all(
    phones.map(
      (phone) =>
        new Promise<void>((done) => {
          turns.add(5, phone.name, async () => {
            if ((await pusher.execute(phone, [CLEAR_PAGE])) !== null) failed++;
            // Reading it is a system call: one after every push would be part of what a push costs.
            if (++ended % LOOK_EVERY === 0) most = Math.max(most, process.memoryUsage.rss());
            done();
          });
        }),
    ),
  );
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  if (faults.length > 0) throw faults[0];
  const microseconds = (user + system) / phones.length;
  return { seconds, microseconds, mebibytes: (most - memory) / MIB, unanswered: failed };
}

/** Compiles the C program; what is returned runs it once and gives the seconds it took. */
function prepareReference(folder: string, campus: RunningSimulator): () => number {
  const [program, targets, request] = [
    join(folder, "push-reference"),
    join(folder, "targets"),
    join(folder, "request"),
  ];
  execFileSync("cc", ["-O2", "-o", program, resolve(REPOSITORY_ROOT, "test/bench/push-reference.c")]);
  const lines = phonesOf(campus).map(({ host, port }) => `${host} ${port}`);
  writeFileSync(targets, `${lines.join("\n")}\n`);
  const { path, headers, body } = pushRequest([CLEAR_PAGE], CREDENTIALS.authorizationFor("SEP1"));
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  writeFileSync(
    request,
    `POST ${path} HTTP/1.1\r\nHost: phone\r\nConnection: close\r\n${head.join("")}${length}\r\n${body}`,
  );
  return () => {
    const [seconds, pushed] = execFileSync(program, [targets, request, String(AT_ONCE)])
      .toString()
      .split(" ")
      .map(Number);
    if (pushed !== PHONES) throw new Error(`the C program pushed to ${pushed} of ${PHONES} phones`);
    return seconds as number;
  };
}
