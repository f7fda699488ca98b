import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import tls from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiClient } from "../../src/api-client/api-client.ts";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { authorityPath } from "../../src/ops/tls/certificates.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createFastClock } from "../support/fast-clock.ts";
import { unusedPort } from "../support/free-port.ts";
import { type Ran, runCommand } from "../unit/cli/run-command.ts";

const TLS_SETTINGS = "tls: {listen: 127.0.0.1:0}\nnetwork: {multicastInterface: 127.0.0.1}\n";

/** A first message by the command line alone: from an appliance without devices to the proof. */
describe("the commands device and send", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon();
  });
  afterAll(() => daemon.stop());

  const carillon = (...argv: string[]): Promise<Ran> =>
    runCommand(argv, { CARILLON_URL: daemon.url, CARILLON_TOKEN: daemon.first.token });

  const icopIdOf = async (deviceIdentifier: string): Promise<string | undefined> =>
    (await daemon.call<{ data: { icopId: string }[] }>("GET", `/devices?deviceIdentifier=${deviceIdentifier}`)).body
      .data[0]?.icopId;

  it("make a zone known, twice without harm, and call it", async () => {
    expect((await carillon("device", "list")).err.join()).toContain("No devices yet");
    const toNobody = await carillon("send", "Fire drill", "--drill", "--all-devices");
    expect([toNobody.exitCode, toNobody.err.join()]).toEqual([
      ...[EXIT.failure, expect.stringContaining("No devices yet")],
    ]);
    expect((await daemon.call<{ total: number }>("GET", "/notifications")).body.total).toBe(0);
    const zone = ["device", "zone", "hall", "--group", "239.255.31.9", "--name"];
    for (const name of ["Hal", "Hall"]) expect(await carillon(...zone, name)).toMatchObject({ exitCode: EXIT.ok });
    const listed = await carillon("device", "list");
    expect(listed.out.map((line) => line.split(/ {2,}/))).toEqual([["zone:hall", "Hall", "no message yet"]]);
    const sent = await carillon("send", "Fire drill", "--tone", "chime", "--drill", "--all-devices");
    expect([sent.exitCode, sent.out[1]?.split(/ {2,}/)]).toEqual([EXIT.ok, ["Hall", "zone:hall", "Sent, no receipt"]]);
    expect(sent.out.at(-1)).toBe("No receipt: 1 of 1 device.");
    const again = await carillon("send", "Fire drill", "--drill", "--to", "All devices", "--json");
    expect(JSON.parse(again.out.join())).toMatchObject({ devices: [{ deviceIdentifier: "zone:hall" }] });
    expect((await daemon.call<{ total: number }>("GET", "/device-groups")).body.total).toBe(1);
  });

  it("send once although the answer to it is lost", async () => {
    const before = (await daemon.call<{ total: number }>("GET", "/notifications")).body.total;
    let lost = 0;
    // Hands on, and breaks off once instead of answering what was sent.
    const lossy = createServer((request, response) => {
      const { method = "GET", headers, url } = request;
      const isLost = method === "POST" && url?.endsWith("/notifications") && lost++ === 0;
      const onward = ask(`${daemon.url}${url}`, { method, headers: { ...headers, host: new URL(daemon.url).host } });
      onward.on("response", (answer) => {
        if (isLost) answer.resume().on("end", () => response.destroy());
        else answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
      });
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => lossy.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = lossy.address() as AddressInfo;
      const sent = await carillon(
        "send",
        "Hello",
        "--to",
        "All devices",
        "--json",
        "--url",
        `http://127.0.0.1:${port}`,
      );
      expect([sent.exitCode, lost]).toEqual([EXIT.ok, 2]);
      expect((await daemon.call<{ total: number }>("GET", "/notifications")).body.total).toBe(before + 1);
    } finally {
      lossy.close();
    }
  });

  it("keep the port of a phone whose web server has another than 80", async () => {
    const phone = ["device", "phone", "SEP00112233AABB", "--address", "127.9.9.9"];
    expect(await carillon(...phone, "--port", "8081")).toMatchObject({ exitCode: EXIT.ok });
    const path = "/devices?deviceIdentifier=SEP00112233AABB";
    const { data } = (await daemon.call<{ data: { attributes: object }[] }>("GET", path)).body;
    expect(data).toMatchObject([{ attributes: { IPAddress: "127.9.9.9", HttpPort: "8081" } }]);
    for (const port of ["0", "65536", "http", "80x"]) {
      const { exitCode, err } = await carillon(...phone, "--port", port);
      expect([exitCode, err.join()]).toEqual([
        EXIT.usage,
        expect.stringContaining("Must be a port between 1 and 65535"),
      ]);
    }
  });

  it("take the address of the appliance as people copy it, with or without the path of its API", async () => {
    for (const path of ["/", "/api", "/api/", "/api/v1", "/api/v1/"]) {
      const env = { CARILLON_URL: `${daemon.url}${path}`, CARILLON_TOKEN: daemon.first.token };
      expect([path, (await runCommand(["device", "list"], env)).exitCode]).toEqual([path, EXIT.ok]);
    }
  });

  it("exit with a distinct code if a recipient was not reached", async () => {
    // Nobody listens at port 80 of this address.
    const phone = ["device", "phone", "SEP001122334455", "--address", "127.9.9.9"];
    expect(await carillon(...phone)).toMatchObject({ exitCode: EXIT.ok });
    const { exitCode, out } = await carillon("send", "Fire drill", "--drill", "--all-devices");
    expect(exitCode).toBe(EXIT.failure);
    expect(out.join("\n")).toMatch(/SEP001122334455 +Not reached +\S/);
  });

  it("speak the text after a tone on speakers without a display, by default", async () => {
    const group = { name: "Hall only", filterType: "REJECT", additionIds: [await icopIdOf("zone:hall")] };
    expect((await daemon.call("POST", "/device-groups", group)).status).toBe(200);
    const spoken = await carillon("send", "The pool is closed", "--text", "All day.", "--to", "Hall only", "--json");
    expect([spoken.exitCode, spoken.err.filter((line) => /audio|speech/i.test(line))]).toEqual([EXIT.ok, []]);
    const { id, verdict, devices } = JSON.parse(spoken.out.join());
    expect({ verdict, devices }).toMatchObject({
      verdict: "noReceipt",
      devices: [{ deviceIdentifier: "zone:hall", level: "sent", outcome: "noReceipt" }],
    });
    const { body } = await daemon.call("GET", `/notifications/${id}`);
    expect(body).toMatchObject({ alertTone: "chime", ttsType: "subject-and-body" });
    const silent = await carillon("send", "The pool is closed", "--to", "Hall only", "--no-speech");
    expect([silent.exitCode, silent.out.at(-1)?.split(/ {2,}/)]).toEqual([
      EXIT.failure,
      ["Hall", "zone:hall", "Not reached", "a zone has no display"],
    ]);
    expect(silent.out).toContain("Reached no one: 0 of 1 device. Not reached: 1");
  });

  it("list unreached devices last, and again below the table", async () => {
    const { exitCode, out } = await carillon("send", "Fire drill", "--tone", "chime", "--drill", "--all-devices");
    expect(exitCode).toBe(EXIT.failure);
    const names = out.map((line) => line.split(/ {2,}/)[1]);
    const blank = out.indexOf("");
    expect(names.slice(0, 2)).toEqual(["Identifier", "zone:hall"]);
    expect(names.slice(2, blank).sort()).toEqual(["SEP001122334455", "SEP00112233AABB"]);
    expect(out[blank + 1]).toBe("Partly reached: 1 of 3 devices. Not reached: 2");
    expect(names.slice(blank + 2).sort()).toEqual(["SEP001122334455", "SEP00112233AABB"]);
  });

  it("warn before a notification that would reach no one, and exit with a distinct code", async () => {
    const group = { name: "Empty wing", filterType: "REJECT" };
    expect((await daemon.call("POST", "/device-groups", group)).status).toBe(200);
    const sent = await carillon("send", "Fire drill", "--drill", "--to", "Empty wing", "--json");
    const message = "This message would reach no one: its groups and lists are empty.";
    expect([sent.exitCode, sent.err.join("\n")]).toEqual([EXIT.failure, `Warning: ${message}`]);
    const warnings = [{ code: "no-recipients", message }];
    expect(JSON.parse(sent.out.join())).toMatchObject({ warnings, devices: [] });
    const { id } = JSON.parse(sent.out.join()) as { id: string };
    expect((await daemon.call<{ subject: string }>("GET", `/notifications/${id}`)).body.subject).toBe("Fire drill");
  });

  it("name a table that is not there", async () => {
    const { exitCode, err } = await carillon("bulk", "/nowhere/rings.tsv", "--type", "ring-lists");
    expect([exitCode, err.join()]).toEqual([EXIT.failure, "carillon: /nowhere/rings.tsv not found."]);
    expect((await daemon.call<{ total: number }>("GET", "/bulk-uploads")).body.total).toBe(0);
  });

  it("say what to do next, and send nothing", async () => {
    const before = (await daemon.call<{ total: number }>("GET", "/notifications")).body.total;
    const faults: [argv: string[], words: string][] = [
      [["send", "Hello"], "add --to GROUP or --all-devices"],
      [["send", "Hello", "--to", "Everybody"], "Existing groups: All devices, Hall only, Empty wing."],
      [["send", "Hello", "--all-devices", "--tone", "gong"], "Allowed choices are"],
      [["device", "zone", "hall", "--group", "10.1.2.3"], "Must be a multicast address such as 239.1.2.3"],
    ];
    for (const [argv, words] of faults) {
      const { exitCode, err } = await carillon(...argv);
      expect([exitCode, err.join("\n")]).toEqual([EXIT.usage, expect.stringContaining(words)]);
    }
    const nameless = await runCommand(["device", "list"], { CARILLON_URL: daemon.url });
    expect([nameless.exitCode, nameless.err.join()]).toEqual([EXIT.usage, expect.stringContaining("CARILLON_TOKEN")]);
    expect((await daemon.call<{ total: number }>("GET", "/notifications")).body.total).toBe(before);
  });
});

describe("an unreachable appliance", () => {
  it("causes an error that names the next step", async () => {
    const env = { CARILLON_URL: "http://127.0.0.1:9", CARILLON_TOKEN: "x" };
    expect((await runCommand(["device", "list"], env)).err.join()).toContain("Is the daemon running?");
  });

  it("causes an error that says that the request may have been carried out", async () => {
    const broken = createServer((request) => request.socket.destroy());
    await new Promise<void>((resolve) => broken.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = broken.address() as AddressInfo;
      const env = { CARILLON_URL: `http://127.0.0.1:${port}`, CARILLON_TOKEN: "x" };
      expect((await runCommand(["device", "list"], env)).err.join()).toContain("Check before you retry.");
    } finally {
      broken.close();
    }
  });

  it("is waited for at most a minute, with a hint about what it may have done", async () => {
    const deaf = createServer((request) => request.socket.destroy());
    await new Promise<void>((resolve) => deaf.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = deaf.address() as AddressInfo;
      const api = createApiClient(`http://127.0.0.1:${port}`, "x", createFastClock());
      await expect(api.postIdempotent("/notifications", {})).rejects.toThrow("Check before you retry.");
    } finally {
      deaf.close();
    }
  });

  it("is waited for while it restarts after a crash", async () => {
    let asked = 0;
    const keys = new Set<unknown>();
    const dying = createServer((request, response) => {
      // The tests' own look at what is described.
      if (request.method !== "POST") return void response.writeHead(404).end();
      asked += 1;
      keys.add(request.headers["idempotency-key"]);
      if (asked === 1) return void request.socket.destroy();
      const [status, body] = asked < 4 ? [503, { status: 503, type: "starting" }] : [200, { id: "sent" }];
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => dying.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = dying.address() as AddressInfo;
      const api = createApiClient(`http://127.0.0.1:${port}`, "x", createFastClock());
      expect(await api.postIdempotent("/notifications", {})).toEqual({ id: "sent" });
      expect([asked, keys.size]).toEqual([4, 1]);
    } finally {
      dying.close();
    }
  });

  it("finds the TLS port of a daemon of this machine, and trusts its authority", async () => {
    const listen = `127.0.0.1:${await unusedPort()}`;
    const daemon = await startTestDaemon({ settings: TLS_SETTINGS, listen });
    // Roots are those of the whole process.
    const roots = tls.getCACertificates("default");
    try {
      const token = daemon.first.token;
      const env = { CARILLON_URL: `http://${listen}`, CARILLON_TOKEN: token };
      expect(await runCommand(["device", "list"], env)).toMatchObject({ exitCode: 0 });
      tls.setDefaultCACertificates(roots);
      // Elsewhere it could be anybody's.
      await expect(
        createApiClient(`http://127.0.0.2:${listen.split(":")[1]}`, token).get("/session"),
      ).rejects.toThrow();
      const named = { CARILLON_URL: daemon.url, CARILLON_TOKEN: token, CARILLON_CA: authorityPath(daemon.dataDir) };
      expect(await runCommand(["device", "list"], named)).toMatchObject({ exitCode: 0 });
      const missing = await runCommand(["device", "list", "--ca", "/nowhere.crt"], env);
      expect([missing.exitCode, missing.err.join()]).toEqual([EXIT.usage, expect.stringContaining("/nowhere.crt")]);
    } finally {
      tls.setDefaultCACertificates(roots);
      await daemon.stop();
    }
  });

  it("causes an error for an unknown certificate authority", async () => {
    const daemon = await startTestDaemon({ settings: TLS_SETTINGS });
    try {
      const asked = async (url: string): Promise<string> =>
        (await runCommand(["device", "list"], { CARILLON_URL: url, CARILLON_TOKEN: "x" })).err.join();
      expect(await asked(daemon.url)).toContain("--ca DIR/tls/authority.crt");
    } finally {
      await daemon.stop();
    }
  });
});
