import { createHash, generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { create, extract } from "tar";
import { beforeAll, describe, expect, it } from "vitest";
import { systemdService } from "../../../../src/cli/systemd-service.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { copyOwner } from "../../../../src/lib/file-ownership.ts";
import { createRemoteUpgrade } from "../../../../src/ops/upgrade/remote-upgrade.ts";
import {
  packUpgrade,
  readUpgradeManifest,
  unpackUpgrade,
  upgradePublicKeyOf,
} from "../../../../src/ops/upgrade/upgrade-bundle.ts";
import {
  completeUpgradeRequest,
  findVersionsRoot,
  pendingUpgradeRequest,
  upgradeFilePath,
  upgradeRequestResult,
  writeUpgradeRequest,
} from "../../../../src/ops/upgrade/upgrade-request.ts";
import {
  installRequestedUpgrade,
  installUpgrade,
  type ServiceControl,
} from "../../../../src/wiring/install-upgrade.ts";
import { pendingVersionSwitch } from "../../../../src/wiring/version-switch.ts";
import { createFastClock } from "../../../support/fast-clock.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";

const maker = generateKeyPairSync("ed25519");
const key = maker.publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");
const pem = maker.privateKey.export({ type: "pkcs8", format: "pem" }).toString();

function version(folder: string, number: string): string {
  mkdirSync(join(folder, "dist"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ version: number }));
  writeFileSync(join(folder, "dist/main.js"), `run(${JSON.stringify(number)})`);
  return folder;
}

const NOBODY = 65_534;

/** What a version may suffer from; `dying` is well once and dead from then on, `starting` never gets ready. */
type Illness = "none" | "red" | "dead" | "dying" | "starting";

/** A machine whose daemon is the version that `current` leads to; the new one is ill, and has written the data or not. */
function machine(illness: Illness, wrote = true) {
  const root = makeTempDir();
  version(join(root, "versions/0.1.0"), "0.1.0");
  symlinkSync("versions/0.1.0", join(root, "current"));
  const steps: string[] = [];
  let runs = true;
  let looks = 0;
  const service: ServiceControl = {
    requireSupervised: async () => {},
    restart: async () => {
      steps.push("restart");
      looks = 0;
    },
    stop: async () => {
      steps.push("stop");
      runs = false;
    },
    start: async () => {
      steps.push("start");
      runs = true;
    },
    async state() {
      const { version: own } = JSON.parse(readFileSync(join(root, "current/package.json"), "utf8"));
      const isIll = own !== "0.1.0" && illness !== "none";
      looks += 1;
      if (!runs || (isIll && (illness === "dead" || (illness === "dying" && looks > 1)))) return null;
      const url = isIll && illness === "starting" ? "" : "http://127.0.0.1:8080";
      return { version: own, url, status: isIll && illness === "red" ? "RED" : "GREEN", reasons: [] };
    },
    needsNewerVersion: async () => wrote,
    backup: async () => {
      steps.push("backup");
      return "the-backup";
    },
    restore: async (file) => void steps.push(`restore ${file}`),
  };
  const run = (file: string, keys = [key]) =>
    installUpgrade({ file, root, keys, service, clock: createFastClock(), say: () => undefined });
  return { root, steps, run, service };
}

let bundle: string;
beforeAll(async () => {
  bundle = join(makeTempDir(), "carillon.tgz");
  await packUpgrade(version(makeTempDir(), "0.2.0"), pem, bundle);
});

describe("packing", () => {
  it("creates a bundle that other users can read, whatever the umask", async () => {
    const file = join(makeTempDir(), "carillon.tgz");
    const before = process.umask(0o077);
    try {
      await packUpgrade(version(makeTempDir(), "0.2.0"), pem, file);
    } finally {
      process.umask(before);
    }
    expect(statSync(file).mode & 0o777).toBe(0o644);
  });

  it("are unpacked without the modes of the archive, which are not signed", async () => {
    const folder = makeTempDir();
    await extract({ file: bundle, cwd: folder });
    const unpacked = join(folder, "carillon/dist/main.js");
    chmodSync(unpacked, 0o6777);
    chmodSync(join(folder, "carillon/package.json"), 0o666);
    chmodSync(join(folder, "carillon/dist"), 0o1777);
    const evil = join(makeTempDir(), "evil.tgz");
    await create({ cwd: folder, gzip: true, file: evil }, ["bundle.json", "carillon"]);
    const versions = makeTempDir();
    const before = process.umask(0);
    try {
      await unpackUpgrade(evil, versions, [upgradePublicKeyOf(pem)], () => undefined);
    } finally {
      process.umask(before);
    }
    const modeOf = (path: string): string => (statSync(join(versions, "0.2.0", path)).mode & 0o7777).toString(8);
    expect(["dist/main.js", "package.json", "dist", ""].map(modeOf)).toEqual(["755", "644", "755", "755"]);
  });

  it("packs a folder without git history and data directories", async () => {
    const folder = version(makeTempDir(), "0.2.0");
    for (const [path, name] of [
      ["data", "carillon.db"],
      ["data", "secret-key"],
      [".git", "HEAD"],
    ] as const) {
      mkdirSync(join(folder, path), { recursive: true });
      writeFileSync(join(folder, path, name), "x");
    }
    const target = join(makeTempDir(), "carillon.tgz");
    const { files } = await packUpgrade(relative(process.cwd(), folder), pem, target);
    expect(Object.keys(files).sort()).toEqual(["dist/main.js", "package.json"]);
    expect(await unpackUpgrade(target, makeTempDir(), [upgradePublicKeyOf(pem)], () => undefined)).toBe("0.2.0");
  });

  it("leaves out the signing key and the bundle itself in the same folder", async () => {
    const folder = version(makeTempDir(), "0.2.0");
    writeFileSync(join(folder, "maker.pem"), pem);
    const target = join(folder, "carillon.tgz");
    for (let round = 0; round < 2; round += 1) {
      const { files } = await packUpgrade(folder, pem, target);
      expect(Object.keys(files).sort()).toEqual(["dist/main.js", "package.json"]);
    }
  });

  it("leaves out every private key and secret key, except in libraries", async () => {
    const folder = version(makeTempDir(), "0.2.0");
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const secret = { cipher: "aes-256-cbc", passphrase: "x" };
    const keys = {
      "before.pem": generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }),
      "windows.txt": `\ufeff${pem.replaceAll("\n", "\r\n")}`,
      "tls.key": other.export({ type: "sec1", format: "pem" }),
      "sealed.key": other.export({ type: "pkcs8", format: "pem", ...secret }),
      "carillon-key": Buffer.from(`${"a".repeat(31)}\u00e9`, "latin1"),
    };
    mkdirSync(join(folder, "node_modules/library"), { recursive: true });
    const others = {
      "thirty-two.txt": "x".repeat(32),
      "node_modules/library/sample.pem": keys["before.pem"],
      "about.md": `A key: ${pem}`,
    };
    for (const [name, content] of Object.entries({ ...keys, ...others })) writeFileSync(join(folder, name), content);
    const { files } = await packUpgrade(folder, pem, join(makeTempDir(), "carillon.tgz"));
    expect(Object.keys(files).sort()).toEqual([...Object.keys(others), "dist/main.js", "package.json"].sort());
  });

  it("leaves out the signing key even if other text precedes it", async () => {
    const folder = version(makeTempDir(), "0.2.0");
    const words = `The maker's key of 2026\n${pem}`;
    mkdirSync(join(folder, "node_modules"));
    for (const name of ["maker.txt", "node_modules/maker.txt"]) writeFileSync(join(folder, name), words);
    const { files } = await packUpgrade(folder, words, join(makeTempDir(), "carillon.tgz"));
    expect(Object.keys(files).sort()).toEqual(["dist/main.js", "package.json"]);
  });

  it("packs a file with hard links twice", async () => {
    const folder = version(makeTempDir(), "0.2.0");
    const library = join(folder, "node_modules/library");
    mkdirSync(join(library, "obj"), { recursive: true });
    for (const name of ["a.node", "b.node"]) {
      writeFileSync(join(library, "obj", name), name);
      linkSync(join(library, "obj", name), join(library, name));
    }
    const [target, versions] = [join(makeTempDir(), "carillon.tgz"), makeTempDir()];
    await packUpgrade(folder, pem, target);
    await unpackUpgrade(target, versions, [key], () => undefined);
    for (const path of ["a.node", "b.node", "obj/a.node", "obj/b.node"])
      expect(readFileSync(join(versions, "0.2.0/node_modules/library", path), "utf8")).toBe(basename(path));
  });

  it("rejects another kind of key before it writes anything", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const target = join(makeTempDir(), "carillon.tgz");
    for (const wrong of [privateKey.export({ type: "pkcs8", format: "pem" }).toString(), "no key"])
      await expect(packUpgrade(version(makeTempDir(), "0.2.0"), wrong, target)).rejects.toThrow(
        "create one with carillon upgrade-key",
      );
    expect(readdirSync(dirname(target))).toEqual([]);
  });
});

describe("an upgrade", () => {
  it("takes a backup, switches over, and keeps only the previous version", async () => {
    const { root, steps, run } = machine("none");
    version(join(root, "versions/0.0.9"), "0.0.9");
    expect(await run(bundle)).toEqual({ from: "0.1.0", to: "0.2.0", rolledBack: false });
    expect(steps).toEqual(["backup", "restart"]);
    expect(readlinkSync(join(root, "current"))).toBe("versions/0.2.0");
    expect(readdirSync(join(root, "versions")).sort()).toEqual(["0.1.0", "0.2.0"]);
  });

  it.each(["red", "dead", "dying", "starting"] as const)(
    "goes back, with the data as they were, from a version that is %s",
    async (illness) => {
      const { root, steps, run } = machine(illness);
      expect(await run(bundle)).toMatchObject({ rolledBack: true });
      expect(steps).toEqual(["backup", "restart", "stop", "restore the-backup", "start"]);
      expect(readlinkSync(join(root, "current"))).toBe("versions/0.1.0");
    },
  );

  it("keeps the data if the new version has not changed them", async () => {
    const { steps, run } = machine("dead", false);
    expect(await run(bundle)).toMatchObject({ rolledBack: true });
    expect(steps).toEqual(["backup", "restart", "stop", "start"]);
  });

  it("is rejected without a service manager, before anything changes", async () => {
    const { root, steps, run, service } = machine("none");
    const unit = "carillon-that-is-none";
    service.requireSupervised = systemdService(root, unit).requireSupervised;
    await expect(run(bundle)).rejects.toThrow(`systemd service "${unit}"`);
    expect([steps, readdirSync(join(root, "versions"))]).toEqual([[], ["0.1.0"]]);
  });

  it("keeps the old version if the new one can't be started", async () => {
    const { root, run, service } = machine("none");
    service.restart = () => Promise.reject(new Error("no bus"));
    await expect(run(bundle)).rejects.toThrow("0.2.0 could not be started; 0.1.0 keeps running.");
    expect(readlinkSync(join(root, "current"))).toBe("versions/0.1.0");
    expect(pendingVersionSwitch(root, bundle)).toBeNull();
  });

  it("is rejected if unsigned, modified, older or truncated, before anything changes", async () => {
    const { root, steps, run } = machine("none");
    const stranger = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "der" }).subarray(-32);
    await expect(run(bundle, [stranger.toString("base64")])).rejects.toThrow("not signed with a trusted key");
    await expect(run(bundle, [])).rejects.toThrow("No trusted key");
    const older = join(makeTempDir(), "older.tgz");
    await packUpgrade(version(makeTempDir(), "0.0.9"), pem, older);
    await expect(run(older)).rejects.toThrow("not newer");
    const { service, ...other } = machine("none");
    version(join(other.root, "versions/0.3.0"), "0.3.0");
    rmSync(join(other.root, "current"));
    symlinkSync("versions/0.3.0", join(other.root, "current"));
    const { state } = service;
    service.state = async () => ({ ...(await state()), version: "0.1.0" }) as never;
    await expect(other.run(bundle)).rejects.toThrow("not newer");
    const cut = join(makeTempDir(), "cut.tgz");
    writeFileSync(cut, readFileSync(bundle).subarray(0, 200));
    await expect(run(cut)).rejects.toThrow("Invalid upgrade");
    await expect(run("/nowhere/version.tgz")).rejects.toMatchObject({ code: "ENOENT", path: "/nowhere/version.tgz" });
    const nowhere = "Can't read /nowhere/version.tgz: file not found";
    await expect(readUpgradeManifest("/nowhere/version.tgz", [key])).rejects.toThrow(nowhere);
    expect((await readUpgradeManifest(bundle, [key])).version).toBe("0.2.0");
    expect(steps).toEqual([]);
    expect(readlinkSync(join(root, "current"))).toBe("versions/0.1.0");
  });

  it("is rejected if a file does not match the signed list", async () => {
    const { create, extract } = await import("tar");
    const { steps, run } = machine("none");
    const folder = makeTempDir();
    await extract({ file: bundle, cwd: folder });
    const forge = async (change: () => void): Promise<string> => {
      change();
      const file = join(makeTempDir(), "forged.tgz");
      await create({ file, cwd: folder, gzip: true }, readdirSync(folder));
      return file;
    };
    const added = await forge(() => writeFileSync(join(folder, "carillon/dist/more.js"), "run()"));
    await expect(run(added)).rejects.toThrow("dist/more.js is not in the signed list");
    const changed = await forge(() => {
      writeFileSync(join(folder, "carillon/dist/main.js"), "steal()");
      writeFileSync(join(folder, "carillon/dist/more.js"), "");
    });
    await expect(run(changed)).rejects.toThrow("is not");
    expect(steps).toEqual([]);
  });
});

describe("a remote upgrade", () => {
  const still = {
    ...systemClock,
    monotonicMs: () => 0,
    after(_: number, work: () => void) {
      const immediate = setImmediate(work);
      return { cancel: () => clearImmediate(immediate) };
    },
  };
  const hash = (): string => createHash("sha256").update(readFileSync(bundle)).digest("hex");
  const order = { id: "order-1" };

  /** An appliance to which the upgrade came over the link, and root beside it. */
  function ordered(illness: Illness, more: Partial<Parameters<typeof createRemoteUpgrade>[0]> = {}) {
    const at = machine(illness);
    const dataDir = makeTempDir();
    const file = upgradeFilePath(dataDir, hash()) as string;
    mkdirSync(dirname(file), { recursive: true });
    copyFileSync(bundle, file);
    const needs = {
      dataDir,
      version: "0.1.0",
      clock: still as never,
      keys: [key],
      root: at.root,
      store: NOTHING_OFFERED,
    };
    const daemon = (signal = new AbortController().signal, version = "0.1.0") =>
      createRemoteUpgrade({ ...needs, ...more, version })({ ...order, value: { sha256: hash() } } as never, signal);
    const root = async (): Promise<void> => {
      while (!pendingUpgradeRequest(dataDir)) await new Promise(setImmediate);
      const options = {
        root: at.root,
        keys: [key],
        service: at.service,
        clock: createFastClock(),
        say: () => undefined,
      };
      await installRequestedUpgrade(dataDir, options).catch(() => undefined);
    };
    return { ...at, dataDir, daemon, asRoot: root };
  }
  const NOTHING_OFFERED = { one: () => null } as never;

  it("is installed by root, and reported once by the version that runs then", async () => {
    const { daemon, asRoot, dataDir, steps } = ordered("none");
    const before = new AbortController();
    const cutOff = daemon(before.signal);
    await Promise.all([
      asRoot().then(() => before.abort()),
      cutOff.catch((error: unknown) => expect(error).toBe(before.signal.reason)),
    ]);
    expect([pendingUpgradeRequest(dataDir), steps]).toEqual([null, ["backup", "restart"]]);
    expect(await daemon(undefined, "0.2.0")).toEqual({ from: "0.1.0", to: "0.2.0" });
    expect(pendingUpgradeRequest(dataDir)).toBeNull();
  });

  it("reports a rollback", async () => {
    const { daemon, asRoot } = ordered("dying");
    const told = expect(daemon()).rejects.toThrow("0.2.0 did not become healthy: rolled back to 0.1.0");
    await asRoot();
    await told;
  });

  it("is resumed after an interruption", async () => {
    const { dataDir, asRoot, service, steps } = ordered("none");
    writeUpgradeRequest(dataDir, { ...order, sha256: hash(), from: "0.0.9" });
    const { state } = service;
    expect((await state())?.version).toBe("0.1.0");
    // With the whole machine: the daemon starts beside root.
    let looks = 0;
    service.state = async () => (++looks < 3 ? null : state());
    await asRoot();
    expect(upgradeRequestResult(dataDir, order.id)).toMatchObject({ from: "0.0.9", to: "0.1.0", rolledBack: false });
    expect(steps).toEqual([]);
  });

  it("still rolls back after an interruption before the health check", async () => {
    const { dataDir, asRoot, root, service, steps } = ordered("dead");
    writeUpgradeRequest(dataDir, { ...order, sha256: hash(), from: "0.1.0" });
    const { restart } = service;
    service.restart = async () => {
      await restart();
      // The machine goes down: nothing comes after it.
      return new Promise(() => {});
    };
    void asRoot();
    await expect.poll(() => steps).toEqual(["backup", "restart"]);
    expect(readlinkSync(join(root, "current"))).toBe("versions/0.2.0");
    writeUpgradeRequest(dataDir, { ...order, sha256: hash(), from: "0.1.0" });
    await asRoot();
    expect(upgradeRequestResult(dataDir, order.id)).toMatchObject({ from: "0.1.0", to: "0.2.0", rolledBack: true });
    expect(steps.slice(2)).toEqual(["stop", "restore the-backup", "start"]);
    expect(readdirSync(root).sort()).toEqual(["current", "versions"]);
  });

  it("reports why it is impossible, and leaves nothing behind", async () => {
    const hurried = { clock: createFastClock() };
    const stranger = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "der" }).subarray(-32);
    const cases: [ReturnType<typeof ordered>, string][] = [
      [ordered("none", { root: null }), "not installed in versions"],
      [ordered("none", hurried), "systemctl enable --now carillon-upgrade.path"],
      [ordered("none", { keys: [stranger.toString("base64")] }), "not signed with a trusted key"],
    ];
    for (const [{ daemon, dataDir }, words] of cases) {
      await expect(daemon()).rejects.toThrow(words);
      expect(pendingUpgradeRequest(dataDir)).toBeNull();
    }
    const newest = ordered("none");
    await expect(newest.daemon(undefined, "0.3.0")).rejects.toThrow(
      "0.2.0 is not newer than the running version 0.3.0",
    );
  });

  it.skipIf(process.getuid?.() !== 0)("leads root nowhere by links that the daemon's user put there", () => {
    const [dataDir, system] = [makeTempDir(), makeTempDir()];
    writeFileSync(join(system, "shadow"), "");
    symlinkSync(system, join(dataDir, "upgrade"));
    chownSync(dataDir, NOBODY, NOBODY);
    expect(() => completeUpgradeRequest(dataDir, { id: "order-1", fault: "None." })).toThrow("EACCES");
    copyOwner(dataDir, dataDir);
    expect(readdirSync(system)).toEqual(["shadow"]);
    expect([statSync(system).uid, statSync(join(system, "shadow")).uid, process.geteuid?.()]).toEqual([0, 0, 0]);
  });

  it("is possible only for a versioned installation", () => {
    const { root } = machine("none");
    expect(findVersionsRoot(join(root, "current/dist/main.js"))).toBe(realpathSync(root));
    expect(findVersionsRoot(join(version(makeTempDir(), "1.0.0"), "dist/main.js"))).toBeNull();
  });
});
